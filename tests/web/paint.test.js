// The lines of the graph are really drawn, each in the manner of what it says.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CARD, pointOf } from "../../src/nebula/web/graph/layout/geometry.js";
import { layoutOf } from "../../src/nebula/web/graph/layout/layout.js";
import { withLive } from "../../src/nebula/web/graph/picture/grounds.js";
import { paintPlane } from "../../src/nebula/web/graph/picture/paint.js";
import { topologyOf } from "../../src/nebula/web/state/topology.js";

const SCALE = 0.2; // from afar: lines and blank cards, no text

class Path {
  lines = [];
  moveTo(x, y) {
    this.start = [x, y];
  }
  lineTo(x, y) {
    this.lines.push([...this.start, x, y]);
  }
  arcTo() {}
  roundRect() {}
  rect() {}
  closePath() {}
}

function strokes(edges, path) {
  globalThis.Path2D = Path;
  const drawn = [];
  let dash = [];
  const pen = {
    fill() {},
    fillRect() {},
    setLineDash: (pattern) => (dash = pattern),
    stroke(onto) {
      for (const line of onto.lines) drawn.push({ line, colour: this.strokeStyle, dashed: dash.length > 0 });
    },
  };
  const connections = edges.map(([source, target]) => ({ source, target }));
  const topology = topologyOf({ nodes: [...new Set(edges.flat())], connections });
  const layout = layoutOf(topology);
  const viewport = { x: -500, y: -500, scale: SCALE };
  const state = { briefs: new Map(), selected: null, merging: [] };
  paintPlane(pen, {
    layout,
    topology,
    viewport,
    size: { width: 900, height: 900 },
    path: new Set(path),
    hits: null,
    state,
    say: String,
    colour: (name) => name,
    colouring: { of: () => null, legend: [] },
    link: null,
    live: [],
    hovered: null,
    font: "",
    grown: () => 1,
  });
  const at = (id, end) => {
    const { x, y } = pointOf(layout, topology.index.get(id));
    return [(x - viewport.x) * SCALE, (y + (end * CARD.height) / 2 - viewport.y) * SCALE];
  };
  const close = (one, other) => one.every((each, place) => Math.abs(each - other[place]) < 30 * SCALE);
  return (source, target) =>
    drawn
      .filter(({ line }) => {
        const ends = [...at(source, 1), ...at(target, -1)];
        return close(line, ends) || close(line, [...ends.slice(2), ...ends.slice(0, 2)]); // either way
      })
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
  assert.deepEqual(line("b", "c"), [["--edge", false]]);
  assert.deepEqual(line("a", "d"), [["--edge", false]]);
});

test("a conversation has one ground with its turns at work, unless another conversation is in the way", () => {
  const connections = [{ source: "a", target: "b" }];
  const alone = layoutOf(topologyOf({ nodes: ["a", "b"], connections }));
  const [home] = alone.regions;
  const turn = { x: home.right + 272, row: home.bottom + 1, above: 1 };
  const { grown, apart } = withLive({ layout: alone, live: [turn] });
  assert.deepEqual([apart.length, grown.get(home).right, grown.get(home).bottom], [0, turn.x, turn.row]);
  const beside = layoutOf(topologyOf({ nodes: ["a", "b", "c"], connections }));
  const [mine, other] = [beside.regions[beside.region[1]], beside.regions[beside.region[2]]];
  const over = { x: other.left, row: mine.bottom, above: 1 };
  assert.equal(withLive({ layout: beside, live: [over] }).apart.length, 1);
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
  assert.deepEqual(line("b", "m"), [["--edge", false]]);
  assert.deepEqual(line("c", "m"), [["--edge", true]]);
});
