// The languages that code is coloured in: every name means the one that highlight.js means by it, and each can be loaded.

import assert from "node:assert/strict";
import { test } from "node:test";

import colours from "../../src/nebula/web/vendor/highlight/highlight.js";
import { INNER, load, NAMES } from "../../src/nebula/web/vendor/highlight/languages.js";

test("a name means the language that highlight.js means by it", async () => {
  const all = [...new Set(Object.values(NAMES))];
  for (const name of all) colours.registerLanguage(name, (await load(name)).default);
  const known = all.flatMap((name) =>
    [name, ...(colours.getLanguage(name).aliases ?? [])].map((/** @type {string} */ alias) => [alias, name]),
  );
  assert.deepEqual(NAMES, Object.fromEntries(known));
  assert.equal(NAMES.ts, "typescript");
});

test("what may stand inside a language is loaded with it", () => {
  assert.deepEqual(INNER.xml, ["css", "javascript"]);
  for (const name of Object.values(INNER).flat()) assert.ok(Object.hasOwn(NAMES, name), name);
});
