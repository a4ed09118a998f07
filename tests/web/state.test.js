// The page's own logic, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { missingWords } from "../../src/nebula/web/lib/words.js";
import { extended, layoutOf } from "../../src/nebula/web/graph/layout.js";
import { reduce } from "../../src/nebula/web/state/reduce.js";
import { EMPTY } from "../../src/nebula/web/state/state.js";
import { createSelectors } from "../../src/nebula/web/state/selectors.js";
import { decided, roundsOf } from "../../src/nebula/web/backstage/tool_log.js";
import {
  grown,
  neighbour,
  nextFork,
  pathTo,
  rowsOf,
  topologyOf,
  wouldCircle,
} from "../../src/nebula/web/state/topology.js";

function flow(...edges) {
  const connections = edges.map(([source, target]) => ({ source, target }));
  return { nodes: [...new Set(edges.flatMap(([source, target]) => [source, target]))], connections };
}

const BRANCHED = flow("ab", "bc", "cd", "ax", "xy", "dm", "ym");

test("both languages say the same", () => assert.deepEqual(missingWords(), []));

test("the path follows first parents", () => {
  assert.deepEqual(pathTo(topologyOf(BRANCHED), "m"), ["a", "b", "c", "d", "m"]);
  assert.deepEqual(pathTo(topologyOf(BRANCHED), "none"), []);
});

test("a conversation begins with its first turn, its line comes first, then what branches off", () => {
  const rows = rowsOf(topologyOf(BRANCHED)).map(
    (row) => `${row.id}${row.level}${row.kind[0]}${row.from ?? ""}${row.merges}`,
  );
  assert.deepEqual(rows, ["a1s", "b2t", "c2t", "d2t", "m2ty", "x2ba", "y3t"]);
  const folded = rowsOf(topologyOf(BRANCHED), new Set(["x"])).map((row) => row.id);
  assert.deepEqual(folded, ["a", "b", "c", "d", "m", "x"]);
  assert.deepEqual(
    rowsOf(topologyOf(BRANCHED), new Set(["a"])).map((row) => row.id),
    ["a"],
  );
  const two = rowsOf(topologyOf(flow("ab", "cd"))).map((row) => row.kind);
  assert.deepEqual(two, ["start", "turn", "start", "turn"]);
});

test("a circle made by hand hangs nothing", () => {
  const circle = topologyOf(flow("ab", "ba", "bc"));
  assert.deepEqual(
    rowsOf(circle)
      .map((row) => row.id)
      .sort(),
    ["a", "b", "c"],
  );
  assert.equal(pathTo(circle, "c").length, 3);
  assert.deepEqual(
    layoutOf(circle).lane.map((lane) => lane >= 0),
    [true, true, true],
  );
  assert.equal(nextFork(circle, "b", "up"), null);
});

test("steps lead to parents, children and turns beside", () => {
  const topology = topologyOf(BRANCHED);
  const steps = ["up", "down", "left", "right"].map((way) => neighbour(topology, "x", way));
  assert.deepEqual(steps, ["a", "y", "b", null]);
  assert.equal(nextFork(topology, "d", "up"), "a");
  assert.equal(nextFork(topology, "b", "down"), "m");
});

function standing(topology, layout = layoutOf(topology)) {
  return Object.fromEntries(topology.ids.map((id, place) => [id, `${layout.lane[place]},${layout.row[place]}`]));
}

test("no two nodes stand in one place, and lanes are given back", () => {
  const topology = topologyOf(flow("ab", "bc", "cd", "de", "ef", "ax", "dy"));
  const places = standing(topology);
  assert.deepEqual(
    [..."abcdef"].map((id) => places[id]),
    [0, 1, 2, 3, 4, 5].map((row) => `0,${row}`),
  );
  assert.deepEqual([places.x[0], places.y[0]], ["1", "1"]);
  assert.equal(new Set(Object.values(places)).size, topology.ids.length);
});

// A flow that grows at random, as conversations do.
function* growing(count) {
  let seed = 7;
  const random = (below) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  const known = { nodes: [], connections: [] };
  for (let number = 0; number < count; number++) {
    const target = `n${number}`;
    const parents =
      number === 0 || random(20) === 0
        ? []
        : [random(4) ? number - 1 : random(number), ...(random(9) ? [] : [random(number)])];
    const added = [...new Set(parents)].map((place) => ({ source: `n${place}`, target }));
    known.nodes = [...known.nodes, target];
    known.connections = [...known.connections, ...added];
    yield { ...known, added, target };
  }
}

test("whatever is added, nothing moves, and it is the same when made anew", () => {
  let topology = topologyOf({ nodes: [], connections: [] });
  let layout = layoutOf(topology);
  let before = {};
  for (const { nodes, connections, added, target } of growing(400)) {
    topology = grown(topology, [target], added);
    layout = extended(layout, topology);
    const now = standing(topology, layout);
    for (const id of Object.keys(before)) assert.equal(now[id], before[id], `${id} after ${target}`);
    assert.equal(new Set(Object.values(now)).size, nodes.length, `two in one place after ${target}`);
    before = now;
    if (nodes.length % 100 === 0) {
      const anew = topologyOf({ nodes, connections });
      assert.deepEqual(standing(anew), now);
      assert.deepEqual([anew.order, anew.primary, rowsOf(anew)], [topology.order, topology.primary, rowsOf(topology)]);
    }
  }
});

const event = (state, name, data) => reduce(state, { kind: "events", events: [{ name, data }], now: 0 });

test("selectors add a new node to what is known instead of working out everything again", () => {
  const selectors = createSelectors();
  const state = reduce(EMPTY, { kind: "flow", flow: { id: "f", name: "f", nodes: ["a"], connections: [] } });
  const { index } = selectors.topology(state);
  const next = event(state, "node_created", {
    node_id: "b",
    flow_id: "f",
    parents: [{ source: "a" }],
    node: { id: "b" },
  });
  assert.equal(selectors.topology(next).index, index);
  assert.deepEqual(
    selectors.rows(next).map((row) => row.id),
    ["a", "b"],
  );
  assert.deepEqual(selectors.layout(next).row, [0, 1]);
  const gone = event(next, "node_deleted", { node_id: "a" });
  assert.deepEqual(
    selectors.rows(gone).map((row) => row.id),
    ["b"],
  );
});

test("a run of turns without a branch folds into one place", () => {
  const topology = topologyOf(flow("ab", "bc", "cd", "de", "ef", "ax"));
  const folded = layoutOf(topology, true);
  assert.deepEqual([...folded.runs], [[topology.index.get("c"), 3]]);
  assert.deepEqual(
    [..."abcdefx"].map((id) => folded.row[topology.index.get(id)]),
    [0, 1, 2, 2, 2, 3, 1],
  );
  assert.deepEqual(layoutOf(topology, true, new Set(["c"])).runs.size, 0);
});

test("a very long flow is laid out without recursion", () => {
  const nodes = Array.from({ length: 50000 }, (_, n) => String(n));
  const connections = nodes.slice(1).map((target, n) => ({ source: String((n + 1) % 12 ? n : n - 5), target }));
  const topology = topologyOf({ nodes, connections: connections.filter(({ source }) => Number(source) >= 0) });
  assert.deepEqual(
    [rowsOf(topology).length, layoutOf(topology).lane.length, layoutOf(topology, true).row.length],
    [50000, 50000, 50000],
  );
});

test("what the tools did is read from the texts of a node", () => {
  const use = { id: "c", name: "readFile", args: { path: "a" } };
  const round = {
    message: { ToolUse: { content: "", tool_uses: [use] } },
    results: [{ tool_use_id: "c", content: [{ Text: "seen" }], status: "Success" }],
  };
  const texts = [
    { role: "user", text: "p" },
    { role: "tool", text: JSON.stringify(round) },
    { role: "tool", text: "by hand" },
    { role: "tool", text: "null" },
  ];
  assert.deepEqual(roundsOf(texts), [
    { title: "readFile", text: '{\n  "path": "a"\n}' },
    { title: "readFile → Success", text: "seen" },
    { title: "", text: "by hand" },
    { title: "", text: "null" },
  ]);
});

test("a connection that leads back is known before it is made", () => {
  const topology = topologyOf(BRANCHED);
  assert.deepEqual(
    [wouldCircle(topology, "m", "x"), wouldCircle(topology, "x", "m"), wouldCircle(topology, "a", "a")],
    [true, false, true],
  );
});

test("the line goes on with a child whose first parent it is", () => {
  const topology = topologyOf({
    nodes: ["a", "b", "m", "c"],
    connections: [
      { source: "a", target: "m" },
      { source: "b", target: "m" },
      { source: "b", target: "c" },
    ],
  });
  const place = (id) => topology.index.get(id);
  assert.equal(topology.primary[place("a")], place("m"));
  assert.equal(topology.primary[place("b")], place("c"), "the merge is the other parent's line");
});

test("lanes beside each other keep a row between them above and below", () => {
  const topology = topologyOf(flow("ab", "bc", "ax", "by"));
  assert.deepEqual(standing(topology), { a: "0,0", b: "0,1", c: "0,2", x: "1,1", y: "2,2" });
  const later = topologyOf(flow("ab", "bc", "cd", "de", "cx", "ay"));
  assert.deepEqual(standing(later), { a: "0,0", b: "0,1", c: "0,2", d: "0,3", e: "0,4", x: "1,3", y: "1,1" });
  const touching = topologyOf(flow("ab", "bc", "cd", "de", "bx", "ay"));
  assert.equal(standing(touching).y, "2,1", "right above another line there is no room");
});

test("a flow that was replaced is worked out anew", () => {
  const selectors = createSelectors();
  const load = (state, edges) => reduce(state, { kind: "flow", flow: { id: "f", name: "main", ...flow(...edges) } });
  let state = load(EMPTY, ["ab"]);
  assert.deepEqual(selectors.topology(state).ids, ["a", "b"]);
  state = load(state, ["xy", "yz"]);
  assert.deepEqual(selectors.topology(state).ids, ["x", "y", "z"]);
  assert.equal(selectors.topology(state).index.has("a"), false);
  assert.deepEqual(selectors.layout(state).row, [0, 1, 2]);
});

test("the outline shows hits while there is a search, each once and flat", () => {
  const selectors = createSelectors();
  let state = reduce(EMPTY, { kind: "flow", flow: { id: "f", name: "main", ...flow("ab", "bc") } });
  state = reduce(state, { kind: "select", id: "c" });
  assert.deepEqual([selectors.rows(state).length, selectors.placeOfRow(state), selectors.hits(state)], [3, 2, null]);
  state = reduce(state, { kind: "search", text: "x", hits: ["c", "elsewhere"], total: 2 });
  assert.deepEqual(
    selectors.rows(state).map(({ id, level }) => `${id}${level}`),
    ["c1", "elsewhere1"],
  );
  assert.deepEqual([selectors.placeOfRow(state), [...selectors.hits(state)]], [0, ["c", "elsewhere"]]);
  assert.deepEqual([...selectors.pathSet(state)], ["a", "b", "c"]);
  state = reduce(state, { kind: "select", id: null });
  assert.equal(selectors.placeOfRow(state), -1);
});

test("what a reader decided is read from a turn's log, and a plain yes is not", () => {
  const round = (/** @type {unknown} */ decisions) => ({
    role: "tool",
    text: JSON.stringify({ message: { ToolUse: { tool_uses: [] } }, results: [], decisions }),
  });
  const part = { about: "a.py", answer: "hunks 1, 3", taken: 2, of: 3 };
  const no = { about: "b.py", answer: "keep it", refused: true };
  assert.deepEqual(decided([round([part, { about: "c.py", answer: "yes" }, no])]), [part, no]);
  for (const odd of [3, null, ["x", null, { about: 1, answer: "no", refused: true }]])
    assert.deepEqual(decided([round(odd)]), []);
});
