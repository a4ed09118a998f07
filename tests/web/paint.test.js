// The lines of the graph are really drawn, each in the manner of what it says.

import assert from "node:assert/strict";
import { test } from "node:test";

import { LANE, ROW } from "../../src/nebula/web/graph/geometry.js";
import { paintPlane } from "../../src/nebula/web/graph/paint.js";
import { layoutOf } from "../../src/nebula/web/graph/layout.js";
import { topologyOf } from "../../src/nebula/web/state/topology.js";

const SCALE = 0.2; // from afar: lines and dots, no text

class Path {
  lines = [];
  moveTo(x, y) {
    this.start = [x, y];
  }
  lineTo(x, y) {
    this.lines.push([...this.start, x, y]);
  }
  bezierCurveTo(...numbers) {
    this.lines.push([...this.start, ...numbers.slice(4)]);
  }
}

function strokes(edges, path) {
  globalThis.Path2D = Path;
  const drawn = [];
  let dash = [];
  const pen = {
    setTransform() {},
    clearRect() {},
    fillRect() {},
    setLineDash: (pattern) => (dash = pattern),
    stroke(onto) {
      for (const line of onto.lines) drawn.push({ line, colour: this.strokeStyle, dashed: dash.length > 0 });
    },
  };
  const connections = edges.map(([source, target]) => ({ source, target }));
  const topology = topologyOf({ nodes: [...new Set(edges.flat())], connections });
  const layout = layoutOf(topology);
  const viewport = { x: 0, y: 0, scale: SCALE };
  const state = { briefs: new Map(), selected: null };
  const scene = {
    layout,
    topology,
    viewport,
    size: { width: 900, height: 900 },
    path: new Set(path),
    hits: null,
    state,
    say: String,
    colour: (name) => name,
    link: null,
  };
  paintPlane(pen, scene);
  const at = (id) => [
    layout.lane[topology.index.get(id)] * LANE * SCALE,
    layout.row[topology.index.get(id)] * ROW * SCALE,
  ];
  return (source, target) =>
    drawn
      .filter(({ line }) => line.join() === [...at(source), ...at(target)].join())
      .map(({ colour, dashed }) => [colour, dashed]);
}

test("every connection in sight is a line from parent to child; the chosen path has its own colour", () => {
  const line = strokes(
    [
      ["a", "b"],
      ["b", "c"],
      ["a", "d"],
    ],
    ["a", "b"],
  );
  assert.deepEqual(line("a", "b"), [["--accent", false]]);
  assert.deepEqual(line("b", "c"), [["--line-strong", false]]);
  assert.deepEqual(line("a", "d"), [["--line-strong", false]]);
});

test("what a merge took in beside its first parent is dashed", () => {
  const line = strokes(
    [
      ["a", "b"],
      ["a", "c"],
      ["b", "m"],
      ["c", "m"],
    ],
    [],
  );
  assert.deepEqual(line("b", "m"), [["--line-strong", false]]);
  assert.deepEqual(line("c", "m"), [["--line-strong", true]]);
});
