// Mermaid as the page reads it: boxes and arrows in layers, and who says what to whom.

import assert from "node:assert/strict";
import { test } from "node:test";

import { flowchartOf } from "../../src/nebula/web/lib/diagram/flowchart.js";
import { placed } from "../../src/nebula/web/lib/diagram/layers.js";
import { sequenceOf } from "../../src/nebula/web/lib/diagram/sequence.js";

const arrows = (/** @type {string} */ text) =>
  flowchartOf(`graph TD\n${text}`)?.arrows.map(({ from, to, label, kind }) => [from, to, label, kind].join(" ").trim());

test("boxes have their words and shapes, arrows their ends, words and kinds", () => {
  const chart = flowchartOf(
    `flowchart LR %% a remark\n  a["Read <br/> it"] --> b{ok?}\n  b -->|yes| c(done); b -- no --> a\n style a fill:#fff`,
  );
  assert.deepEqual(
    [...(chart?.boxes.values() ?? [])].map(({ id, label, shape }) => [id, label, shape]),
    [
      ["a", "Read \n it", "box"],
      ["b", "ok?", "choice"],
      ["c", "done", "soft"],
    ],
  );
  assert.equal(chart?.across, true);
  assert.deepEqual(arrows("a --> b --- c"), ["a b  solid", "b c  solid"]);
  assert.deepEqual(arrows("a -.-> b\nb ==> c\nc -. maybe .-> a"), ["a b  dotted", "b c  thick", "c a maybe dotted"]);
  assert.deepEqual(arrows("a & b --> c:::hot & d"), ["a c  solid", "a d  solid", "b c  solid", "b d  solid"]);
  assert.deepEqual(arrows("読む[ファイルを読む] --> 書く"), ["読む 書く  solid"]);
});

test("what is not understood is not drawn", () => {
  assert.equal(flowchartOf("pie\n a: 1"), null);
  assert.equal(flowchartOf("graph TD\n a[never closed --> b"), null);
  assert.equal(flowchartOf("graph TD\n a -->"), null);
  assert.equal(flowchartOf("graph TD"), null);
  assert.equal(flowchartOf("graph TD\n a --> a"), null);
  assert.equal(sequenceOf("sequenceDiagram\n what is this"), null);
});

test("an arrow leads to a later layer, one that leads back is drawn back, and nothing lies on another", () => {
  const sizes = new Map(["a", "b", "c", "d"].map((id) => [id, { width: 60, height: 30 }]));
  const lines = [
    { from: "a", to: "b" },
    { from: "a", to: "c" },
    { from: "b", to: "d" },
    { from: "a", to: "d" },
    { from: "d", to: "a" },
  ];
  const { spots, ways, width, height } = placed(sizes, lines);
  const at = (/** @type {string} */ id) => spots.get(id) ?? { x: 0, y: 0 };
  assert.ok(at("a").y < at("b").y && at("b").y < at("d").y);
  assert.equal(at("b").y, at("c").y);
  assert.ok(Math.abs(at("b").x - at("c").x) >= 60);
  assert.deepEqual(
    ways.map((way) => way.length),
    [2, 2, 2, 3, 3],
  );
  assert.deepEqual([ways[4][0], ways[4][2]], [at("d"), at("a")]);
  for (const { x, y } of spots.values()) assert.ok(x >= 30 && x <= width - 30 && y >= 15 && y <= height - 15);
});

test("a sequence names who takes part, in order, and what goes between them", () => {
  const found = sequenceOf(
    "sequenceDiagram\n participant S as Server\n C->>+S: ask\n S-->>C: answer\n Note over C,S: done\n loop each day\n S->S: tick\n end",
  );
  assert.deepEqual(found?.people, ["Server", "C"]);
  assert.deepEqual(
    found?.steps.map(({ kind, from, to, text, dotted, head }) => [kind, from, to, text, dotted, head].join(" ")),
    [
      "message 1 0 ask false true",
      "message 0 1 answer true true",
      "note 0 1 done false false",
      "part 0 0 loop each day false false",
      "message 0 0 tick false false",
    ],
  );
});
