// The order of conversations in the outline, the days between them, and their names.

import assert from "node:assert/strict";
import { test } from "node:test";

import { timeOf, timeOfDay } from "../../src/nebula/web/lib/time.js";
import { nameOfDay, newestFirst, withDays } from "../../src/nebula/web/outline/days.js";
import { linesOf, Rows, single, withLive } from "../../src/nebula/web/outline/lines.js";
import { topologyOf } from "../../src/nebula/web/state/topology.js";

const FLOW = topologyOf({ nodes: ["a", "b", "c", "d"], connections: [{ source: "a", target: "b" }] });
const lines = linesOf(FLOW);
const shown = (begun) => [...new Rows(withDays(lines, begun))].map((row) => row.day ?? row.id);

test("the newest conversation is on top, its turns in order, and tries stay beside what they try", () => {
  const ids = (/** @type {import("../../src/nebula/web/outline/lines.js").Piece[]} */ found) =>
    [...new Rows(found)].map((row) => row.id).join("");
  assert.equal(ids(newestFirst(lines)), "dcab");
  const raced = topologyOf({ nodes: ["a", "b", "c"], connections: [], tries: { c: "b" } });
  assert.equal(ids(newestFirst(linesOf(raced))), "bca");
  assert.equal(ids(newestFirst([])), "");
  assert.equal(ids(newestFirst([single({ id: "a", kind: "try" }), lines[1]])), "ca");
});

test("a turn at work that begins a conversation is on top, another below the one that it continues", () => {
  const live = (/** @type {string} */ id, /** @type {string[]} */ parents) => ({
    id,
    parents,
    prompt: "",
    kind: "working",
  });
  const found = withLive(new Rows(newestFirst(lines)), [live("x", []), live("y", ["a"])]);
  assert.equal([...found].map((row) => row.id).join(""), "xdcayb");
  assert.deepEqual(
    [..."xdcayb", "z"].map((id) => found.placeOf(id)),
    [0, 1, 2, 3, 4, 5, -1],
  );
  assert.equal(withLive(new Rows(lines), [live("b", ["a"])]).length, 4, "what is a node by now stands there already");
});

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
  const ids = [...new Rows(withDays(lines, begun))].map((row) => row.id);
  assert.equal(new Set(ids).size, 7);
});

test("conversations stand a little apart, and below their day they need not", () => {
  const tops = (/** @type {Rows} */ rows) =>
    Array.from({ length: rows.length + 1 }, (_, place) => rows.topOf(place, 40));
  const apart = new Rows(lines);
  assert.deepEqual(tops(apart), [0, 40, 90, 140, 180]);
  const begun = { a: "2026-01-02T09:00:00", c: "2026-01-02T18:00:00", d: "2026-01-05T08:00:00" };
  assert.deepEqual(tops(new Rows(withDays(lines, begun))), [0, 40, 80, 130, 170, 210, 250]);
  assert.deepEqual(
    [0, 39, 40, 85, 90, 139, 140, 1000].map((top) => apart.rowAt(top, 40)),
    [0, 0, 1, 1, 2, 2, 3, 3],
  );
  assert.deepEqual(
    [apart.at(-1), apart.at(4), new Rows([]).rowAt(50, 40), new Rows([]).topOf(0, 40)],
    [undefined, undefined, 0, 0],
  );
});

test("today and yesterday have names, other days their date", () => {
  const now = new Date(2026, 0, 5, 15).getTime();
  assert.equal(nameOfDay("Mon Jan 05 2026", "en", now), "today");
  assert.equal(nameOfDay("Sun Jan 04 2026", "ja", now), "昨日");
  assert.equal(nameOfDay("Fri Jan 02 2026", "en", now), "Fri, Jan 2");
  assert.match(nameOfDay("Fri Jan 02 2025", "en", now), /2025/);
});

test("a moment is told by its clock today, by its day this year, else by its date", () => {
  const now = new Date(2026, 10, 19, 12, 0).getTime();
  const told = (/** @type {[number, number, number]} */ ...day) =>
    timeOf(new Date(...day, 9, 5).toISOString(), "en", now);
  assert.equal(told(2026, 10, 19).replaceAll(/\s/g, " "), "9:05 AM");
  assert.equal(told(2026, 0, 2), "Jan 2");
  assert.equal(told(2025, 0, 2), "Jan 2, 2025");
  assert.deepEqual([timeOf("at noon", "en", now), timeOfDay("", "en")], ["", ""]);
});

test("a clock is written as a browser writes it in that language", () => {
  for (const lang of ["en", "ja"]) {
    const browser = new Intl.DateTimeFormat(lang, { hour: "numeric", minute: "2-digit" });
    for (let hour = 0; hour < 24; hour++) {
      const at = new Date(2026, 10, 19, hour, 5 * (hour % 12));
      assert.equal(timeOfDay(at.toISOString(), lang), browser.format(at).replaceAll(/\s/g, " "));
    }
  }
});
