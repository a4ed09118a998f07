// The picture of conversations: what holds for every layout and every line, whatever the graph.

import assert from "node:assert/strict";
import { test } from "node:test";

import { boundsOf, boxOf, CARD, LANE, placeAt, placesIn, pointOf } from "../../src/nebula/web/graph/layout/geometry.js";
import { extended, layoutOf, settled } from "../../src/nebula/web/graph/layout/layout.js";
import { shownFor } from "../../src/nebula/web/graph/layout/placing.js";
import { routeOf } from "../../src/nebula/web/graph/layout/routes.js";
import { tidyTree } from "../../src/nebula/web/graph/layout/tree.js";
import { fitted, holds } from "../../src/nebula/web/graph/layout/viewport.js";
import { grown, topologyOf } from "../../src/nebula/web/state/topology.js";
import { packed } from "../../src/nebula/web/graph/layout/packing.js";

// A flow that grows at random, as conversations do: lines, branches, merges of near and far, new beginnings.
function* growing(count, seed) {
  const random = (below) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  for (let number = 0; number < count; number++) {
    const isNew = number === 0 || random(14) === 0;
    const parents = isNew ? [] : [random(4) ? number - 1 : random(number), ...(random(9) ? [] : [random(number)])];
    yield {
      node: `n${number}`,
      connections: [...new Set(parents)].map((at) => ({ source: `n${at}`, target: `n${number}` })),
    };
  }
}

function grownTo(count, seed) {
  const all = [...growing(count, seed)];
  return topologyOf({ nodes: all.map((each) => each.node), connections: all.flatMap((each) => each.connections) });
}

const SEEDS = [1, 7, 20, 42, 99];

function overlap(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

function assertApart(layout, places) {
  const shown = places.filter((place) => shownFor(layout, place) === place);
  for (const place of shown) {
    const near = placesIn(layout, boxOf(layout, place)).filter((other) => other !== place);
    for (const other of near)
      assert.ok(!overlap(boxOf(layout, place), boxOf(layout, other)), `${place} lies on ${other}`);
  }
}

function assertLinesFree(layout, topology) {
  topology.parents.forEach((parents, place) => {
    if (shownFor(layout, place) !== place) return;
    for (const parent of new Set(parents.map((each) => shownFor(layout, each)))) {
      const corners = routeOf(layout, parent, place);
      corners.slice(1).forEach((to, at) => {
        const from = corners[at];
        assert.ok(from.x === to.x || from.y === to.y, "lines run straight down or across");
        const line = { left: Math.min(from.x, to.x), right: Math.max(from.x, to.x) };
        const box = { ...line, top: Math.min(from.y, to.y), bottom: Math.max(from.y, to.y) };
        for (const other of placesIn(layout, box)) {
          const card = boxOf(layout, other);
          const inner = { left: card.left + 1, right: card.right - 1, top: card.top + 1, bottom: card.bottom - 1 };
          assert.ok(!overlap(box, inner), `the line ${parent} → ${place} passes behind ${other}`);
        }
      });
    }
  });
}

test("no card lies on another, and no line passes behind one", () => {
  for (const seed of SEEDS) {
    const topology = grownTo(300, seed);
    for (const folding of [false, true]) {
      const layout = layoutOf(topology, { folding });
      assertApart(layout, topology.order);
      assertLinesFree(layout, topology);
    }
  }
});

test("a conversation counts all its turns and knows how far each of its rows reaches; folded ones stand where they are drawn", () => {
  const nodes = [...growing(300, 20)].map((each) => each.node);
  const lines = nodes.slice(1).flatMap((target, at) => (at % 100 ? [{ source: nodes[at], target }] : []));
  for (const topology of [topologyOf({ nodes, connections: lines }), ...SEEDS.map((seed) => grownTo(300, seed))]) {
    for (const folding of [false, true]) {
      const layout = layoutOf(topology, { folding });
      layout.regions.forEach((region, number) => {
        const turns = topology.order.filter((place) => layout.region[place] === number);
        assert.equal(region.count, turns.length);
        const rows = region.spans.map((_, down) =>
          turns.filter((place) => layout.row[place] === region.top + down).map((place) => layout.x[place]),
        );
        assert.deepEqual(
          region.spans,
          rows.map((row) => [Math.min(...row), Math.max(...row)]),
        );
      });
      for (const place of topology.order) {
        const shown = shownFor(layout, place);
        assert.deepEqual(pointOf(layout, place), pointOf(layout, shown));
        assert.equal(layout.byRow[layout.row[place]].includes(place), shown === place);
      }
    }
  }
});

test("subtrees stand as near to each other as they go, and those between two large ones share the room", () => {
  const children = [[1, 2, 3], [4, 5, 6], [], [7, 8, 9], [], [], [], [], [], []];
  const parent = [-1, 0, 0, 0, 1, 1, 1, 3, 3, 3];
  const bottom = [0, 1, 1, 1, 2, 2, 2, 2, 2, 2];
  const at = tidyTree({ children, parent, bottom, half: parent.map(() => 5) });
  const from = (stem) => at[stem] - at[0];
  assert.deepEqual([4, 5, 6, 7, 8, 9].map(from), [-25, -15, -5, 5, 15, 25]);
  assert.deepEqual([1, 2, 3].map(from), [-15, 0, 15]);
  const narrow = tidyTree({ children: [[1, 2], [], []], parent: [-1, 0, 0], bottom: [0, 1, 1], half: [5, 5, 2] });
  assert.equal(narrow[2] - narrow[1], 7);
});

test("a line that passes rows has a narrow way of its own there, straight down", () => {
  const pairs = ["ab", "bc", "ad", "cd"]; // d follows a first, and stands below c
  const connections = pairs.map(([source, target]) => ({ source, target }));
  const layout = layoutOf(topologyOf({ nodes: ["a", "b", "c", "d"], connections }));
  assert.deepEqual(layout.long, [[0, 3]]);
  assert.ok(layout.x[3] - layout.x[1] < LANE, "nearer to the turns it passes than a card could stand");
  const ways = new Set(routeOf(layout, 0, 3).map(({ x }) => x));
  assert.deepEqual([...ways], [layout.x[0], layout.x[3]], "into its own column, and no further");
});

test("a turn stands in the middle above those that follow it, which keep their order", () => {
  for (const seed of SEEDS) {
    const layout = layoutOf(grownTo(300, seed));
    layout.below.forEach((below, place) => {
      if (!below.length || below.some((child) => layout.row[child] > layout.row[place] + 1)) return;
      const across = below.map((child) => layout.x[child]);
      assert.ok(Math.abs(layout.x[place] - (across[0] + across.at(-1)) / 2) < 0.01);
      assert.deepEqual(
        across,
        [...across].sort((one, other) => one - other),
      );
    });
  }
});

test("time runs down: a turn is below all that it continues in its conversation", () => {
  for (const seed of SEEDS) {
    const topology = grownTo(300, seed);
    const layout = layoutOf(topology);
    topology.parents.forEach((parents, place) => {
      for (const parent of parents)
        if (layout.region[parent] === layout.region[place]) assert.ok(layout.row[parent] < layout.row[place]);
    });
  }
});

test("whatever is added, nothing moves, nothing overlaps, and lines stay free", () => {
  for (const seed of SEEDS) {
    let topology = grownTo(40, seed);
    let layout = layoutOf(topology);
    let number = 0;
    for (const { node, connections } of growing(200, seed)) {
      if (number++ < 40) continue;
      const before = topology.ids.map((_, place) => pointOf(layout, place));
      topology = grown(topology, [node], connections);
      layout = extended(layout, topology);
      before.forEach((point, place) => assert.deepEqual(pointOf(layout, place), point, `${place} moved for ${node}`));
    }
    assertApart(layout, topology.order);
    assertLinesFree(layout, topology);
  }
});

test("a line that goes on goes straight down, and a new conversation begins beside the others", () => {
  let topology = topologyOf({ nodes: ["a", "b", "z"], connections: [{ source: "a", target: "b" }] });
  let layout = layoutOf(topology);
  const at = (id) => pointOf(layout, topology.index.get(id));
  const left = boundsOf(layout).left;
  for (let number = 0; number < 30; number++) {
    topology = grown(topology, [`c${number}`], [{ source: number ? `c${number - 1}` : "z", target: `c${number}` }]);
    layout = extended(layout, topology);
    assert.equal(at(`c${number}`).x, at("z").x);
  }
  topology = grown(topology, ["new"], []);
  layout = extended(layout, topology);
  assert.ok(at("new").x + CARD.width / 2 < left);
  assert.equal(at("new").y, 0);
});

test("tries stand side by side below what they continue, however crowded it is there", () => {
  const line = (name) => ["a", "b", "c", "d", "e"].map((letter) => `${name}${letter}`);
  const connections = ["one", "two"].flatMap((name) =>
    line(name)
      .slice(1)
      .map((target, at) => ({ source: line(name)[at], target })),
  );
  let topology = topologyOf({ nodes: [...line("one"), ...line("two"), "asked"], connections });
  let layout = layoutOf(topology);
  for (const node of ["first", "second", "third", "fourth"]) {
    topology = grown(topology, [node], [{ source: "asked", target: node }]);
    layout = extended(layout, topology);
  }
  const rows = topology.children[topology.index.get("asked")].map((place) => layout.row[place]);
  assert.deepEqual(new Set(rows), new Set([layout.row[topology.index.get("asked")] + 1]));
});

test("many conversations have about the shape of the panel, the newest first", () => {
  const nodes = Array.from({ length: 120 }, (_, number) => `n${number}`);
  const connections = nodes
    .filter((_, n) => n % 3)
    .map((target) => ({ source: `n${Number(target.slice(1)) - 1}`, target }));
  for (const shape of [0.5, 1, 2]) {
    const layout = layoutOf(topologyOf({ nodes, connections }), { shape });
    const { left, top, right, bottom } = boundsOf(layout);
    const found = (right - left) / (bottom - top);
    assert.ok(found > shape / 2 && found < shape * 2, `${found} instead of ${shape}`);
    const rows = layout.regions.map((region) => region.top);
    assert.ok(rows[39] <= rows[20] && rows[20] <= rows[0], "further up is newer");
  }
});

test("a few conversations can be read when all of them are in sight, and the newest has room to grow", () => {
  const sizes = [4, 2, 1, 2, 3, 2, 1, 4].reverse(); // turns, the newest last
  const nodes = sizes.flatMap((count, talk) => Array.from({ length: count }, (_, turn) => `t${talk}.${turn}`));
  const connections = nodes
    .filter((id) => !id.endsWith(".0"))
    .map((target) => ({ source: target.replace(/\d+$/, "0"), target }));
  const layout = layoutOf(topologyOf({ nodes, connections }), { shape: 0.62 });
  assert.ok(fitted(boundsOf(layout), { width: 510, height: 820 }).scale > 0.3);
  const newest = layout.regions.at(-1);
  for (const other of layout.regions.slice(0, -1)) {
    const isBelow = other.top > newest.bottom && other.left < newest.right + LANE && newest.left < other.right + LANE;
    assert.ok(!isBelow || other.top - newest.bottom > 8);
  }
});

test("a fit holds everything, however much there is", () => {
  for (const count of [1, 17, 300, 10_000]) {
    const nodes = Array.from({ length: count }, (_, number) => `n${number}`);
    const layout = layoutOf(topologyOf({ nodes, connections: [] }));
    const size = { width: 420, height: 700 };
    const view = fitted(boundsOf(layout), size);
    for (let place = 0; place < count; place += 7) assert.ok(holds(view, size, boxOf(layout, place)));
  }
});

test("a card is found where it stands, a small one also beside it", () => {
  const topology = grownTo(80, 7);
  const layout = layoutOf(topology);
  for (const place of topology.order) {
    const { x, y } = pointOf(layout, place);
    assert.equal(placeAt(layout, { x: x + 110, y: y - 30 }, 1), place);
    assert.equal(placeAt(layout, { x, y: y - CARD.height / 2 - 8 }, 0.2), place);
  }
  assert.equal(placeAt(layout, { x: -5 * LANE, y: -500 }, 1), null);
});

test("what is deleted leaves a gap, and comes back into it", () => {
  const topology = grownTo(60, 7);
  const layout = layoutOf(topology);
  const stood = new Map(topology.ids.map((id, place) => [id, { x: layout.x[place], row: layout.row[place] }]));
  const gone = new Set(["n7", "n20", "n59"]);
  const edges = topology.parents.flatMap((parents, to) =>
    parents.map((from) => ({ source: topology.ids[from], target: topology.ids[to] })),
  );
  const less = topologyOf({
    nodes: topology.ids.filter((id) => !gone.has(id)),
    connections: edges.filter(({ source, target }) => !gone.has(source) && !gone.has(target)),
  });
  const after = settled(stood, less);
  less.ids.forEach((id, place) => assert.deepEqual({ x: after.x[place], row: after.row[place] }, stood.get(id)));
  assertLinesFree(after, less);
  const again = settled(stood, topology);
  topology.ids.forEach((id, place) => assert.deepEqual({ x: again.x[place], row: again.row[place] }, stood.get(id)));
});

test("where a turn would stand above what it continues, the picture is arranged anew", () => {
  const before = topologyOf({ nodes: ["a", "b", "c"], connections: [{ source: "a", target: "b" }] });
  const layout = layoutOf(before);
  const stood = new Map(before.ids.map((id, place) => [id, { x: layout.x[place], row: layout.row[place] }]));
  const connections = [
    { source: "a", target: "b" },
    { source: "b", target: "c" },
  ];
  assert.equal(settled(stood, topologyOf({ nodes: ["a", "b", "c"], connections })), null);
});

test("tries of one beginning stand beside each other, in one conversation", () => {
  let topology = topologyOf({ nodes: ["a", "b", "c"], connections: [{ source: "a", target: "b" }], tries: { c: "a" } });
  let layout = layoutOf(topology);
  assert.equal(layout.regions.length, 1);
  assert.deepEqual(layout.row, [0, 1, 0]);
  topology = grown(topology, ["d"], [], { c: "a", d: "a" });
  layout = extended(layout, topology);
  assert.deepEqual([layout.regions.length, layout.row[3]], [1, 0]);
  assertApart(layout, topology.order);
});

test("each conversation stands as high as it can, and of several such places in the leftmost", () => {
  const extents = Array.from({ length: 150 }, (_, number) => ({
    width: 68 * (1 + ((number * 7) % 9)),
    rows: 1 + ((number * 5) % 11),
  }));
  const corners = packed(extents, { rowHeight: 116, shape: 0.7 });
  const width = Math.max(...corners.map(({ left }, number) => left + extents[number].width)) / 68;
  const filled = new Array(width).fill(0);
  extents.forEach((each, number) => {
    const columns = each.width / 68;
    const depths = Array.from({ length: width - columns + 1 }, (_, at) => Math.max(...filled.slice(at, at + columns)));
    const row = Math.min(...depths);
    assert.deepEqual(corners[number], { left: 68 * depths.indexOf(row), row });
    filled.fill(row + each.rows + (number ? 0 : 8), depths.indexOf(row), depths.indexOf(row) + columns);
  });
  assert.deepEqual(packed([{ width: 5000, rows: 90 }], { rowHeight: 116, shape: 0.7 }), [{ left: 0, row: 0 }]);
});

test("room to grow is given up where the titles of all could not be read for it", () => {
  const talk = (/** @type {number} */ lanes, /** @type {number} */ rows) => ({
    width: lanes * 272 + 48,
    rows: rows + 1,
  });
  const extents = [talk(2, 3), talk(1, 3), talk(2, 2), talk(1, 1), talk(1, 3), talk(1, 2), talk(3, 3), talk(2, 4)];
  const corners = packed(extents, { rowHeight: 116, shape: 0.7 });
  assert.ok(Math.max(...corners.map(({ left }, number) => left + extents[number].width)) / 0.7 <= 2000);
  assert.ok(Math.max(...corners.map(({ row }, number) => row + extents[number].rows)) * 116 <= 2000);
});

test("room to grow is no hole beside a conversation that takes most of the width", () => {
  const talk = (/** @type {number} */ lanes, /** @type {number} */ rows) => ({
    width: lanes * 272 + 48,
    rows: rows + 1,
  });
  const corners = packed([talk(1, 2), talk(2, 2), talk(2.5, 8)], { rowHeight: 116, shape: 0.7 });
  assert.deepEqual(corners.at(-1), { left: 0, row: 4 }); // below, with room for one turn more
});

test("a merge passes a card on the side that it comes from", () => {
  const topology = topologyOf({
    nodes: ["a", "b", "c", "d", "m"],
    connections: [
      { source: "a", target: "b" },
      { source: "a", target: "c" },
      { source: "b", target: "d" },
      { source: "d", target: "m" },
      { source: "c", target: "m" },
    ],
  });
  const layout = layoutOf(topology);
  const [from, past, to] = ["c", "d", "m"].map((id) => topology.index.get(id));
  const corners = routeOf(layout, from, to);
  assert.ok(layout.x[from] > layout.x[past]);
  assert.ok(
    corners.every(({ x }) => x > layout.x[past]),
    "not around it",
  );
});
