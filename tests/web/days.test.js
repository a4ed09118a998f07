// Days between conversations of the outline, and their names.

import assert from "node:assert/strict";
import { test } from "node:test";

import { nameOfDay, withDays } from "../../src/nebula/web/outline/days.js";
import { rowsOf, topologyOf } from "../../src/nebula/web/state/topology.js";

const rows = rowsOf(topologyOf({ nodes: ["a", "b", "c", "d"], connections: [{ source: "a", target: "b" }] }));
const shown = (begun) => withDays(rows, begun).map((row) => row.day ?? row.id);

test("each day has a line before its first conversation", () => {
  const begun = { a: "2026-01-02T09:00:00", c: "2026-01-02T18:00:00", d: "2026-01-05T08:00:00" };
  assert.deepEqual(shown(begun), ["Fri Jan 02 2026", "a", "b", "c", "Mon Jan 05 2026", "d"]);
});

test("where all began on one day, or nothing is known, there is nothing to tell apart", () => {
  assert.deepEqual(shown({ a: "2026-01-02T09:00:00", c: "2026-01-02T18:00:00" }), ["a", "b", "c", "d"]);
  assert.deepEqual(shown({}), ["a", "b", "c", "d"]);
});

test("a day that comes again has a line of its own, and no two lines have one id", () => {
  const begun = { a: "2026-01-02T09:00:00", c: "2026-01-03T09:00:00", d: "2026-01-02T10:00:00" };
  const ids = withDays(rows, begun).map((row) => row.id);
  assert.equal(new Set(ids).size, 7);
});

test("today and yesterday have names, other days their date", () => {
  const now = new Date(2026, 0, 5, 15).getTime();
  assert.equal(nameOfDay("Mon Jan 05 2026", "en", now), "today");
  assert.equal(nameOfDay("Sun Jan 04 2026", "ja", now), "昨日");
  assert.equal(nameOfDay("Fri Jan 02 2026", "en", now), "Fri, Jan 2");
  assert.match(nameOfDay("Fri Jan 02 2025", "en", now), /2025/);
});
