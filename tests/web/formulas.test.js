// Where a formula begins and ends in an answer, and what is none; without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { formulaAt, useFormulas } from "../../src/nebula/web/lib/formulas.js";
import MarkdownIt from "../../src/nebula/web/vendor/markdown-it/markdown-it.js";

const tex = (text) => formulaAt(text, 0)?.tex ?? null;

test("between dollar signs or brackets with a backslash", () => {
  assert.deepEqual(["$x^2$", "$$a$$", "\\(b\\)", "\\[c\\]"].map(tex), ["x^2", "a", "b", "c"]);
  assert.deepEqual(
    ["$$a$$", "\\(b\\)"].map((text) => formulaAt(text, 0).display),
    [true, false],
  );
});

test("money, a shell's variable and what never ends are text", () => {
  for (const text of ["$5 and $6", "$5-$6", "$HOME is", "$ x$", "$x\ny$", "$$a\n\nb$$", "$$$", `$${"x".repeat(6000)}$`])
    assert.equal(tex(text), null, text);
});

function tokensOf(text) {
  const markdown = new MarkdownIt();
  useFormulas(markdown);
  const all = markdown.parse(text, {}).flatMap((token) => [token, ...(token.children ?? [])]);
  return all.filter(({ type }) => type === "formula").map(({ content, markup }) => [content, markup]);
}

test("underlines and stars in it mean nothing else, and one alone may have lines like those of a list", () => {
  assert.deepEqual(tokensOf("so $a_1 * b_2$ holds"), [["a_1 * b_2", "$"]]);
  assert.deepEqual(tokensOf("it is\n\n$$\na\n- b\n= c\n$$\n\nthere"), [["a\n- b\n= c", "$$"]]);
  assert.deepEqual(tokensOf("- one\n- \\[x\\]\n"), [["x", "$$"]]);
  assert.deepEqual(tokensOf("`$x$` and \\$x$ cost"), []);
  assert.deepEqual(tokensOf("```\n$$x$$\n```"), []);
});
