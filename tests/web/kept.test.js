// What the server tells changes what it names; the rest of the state stays. And what odd flows come to.

import assert from "node:assert/strict";
import { test } from "node:test";

import { turnInSight, turnsOfFlow } from "../../src/nebula/web/state/here.js";
import { reduce } from "../../src/nebula/web/state/reduce.js";
import { createSelectors } from "../../src/nebula/web/state/selectors.js";
import { EMPTY } from "../../src/nebula/web/state/state.js";
import { grown, topologyOf } from "../../src/nebula/web/state/topology.js";
import { begin } from "../../src/nebula/web/state/turn.js";
import { rowsOf } from "./rows.js";

const edges = (/** @type {string[]} */ ...pairs) => pairs.map(([source, target]) => ({ source, target }));
const FLOW = { id: "f1", name: "main", nodes: ["a", "b", "c", "d"], connections: edges("ab", "bc", "bd"), base: {} };
const FULL = {
  ...EMPTY,
  modes: ["agent"],
  flows: [{ id: "f1", name: "main" }],
  flow: FLOW,
  selected: "d",
  merging: ["c", "a"],
  placed: true,
  bodies: new Map([["a", { id: "a" }]]),
  turns: new Map([["t", begin({ trace_id: "t", flow_id: "f1", prompt: "p", parents: ["a"] }, 0)]]),
  turn: "t",
  steered: new Set(["s"]),
  folded: new Set(["a", "b"]),
};
const tell = (/** @type {any} */ state, /** @type {string} */ name, /** @type {any} */ data) =>
  reduce(state, { kind: "events", events: [{ name, data }], now: 0 });

const UNHEARD = [{ steering_id: "s", text: "w" }];
const TOLD = [
  ["node_created", { node_id: "x", flow_id: "f1", parents: [{ source: "d" }], node: { id: "x" } }, "flow briefs"],
  ["node_created", { node_id: "x", flow_id: "other", parents: [], node: { id: "x" } }, "briefs"],
  ["node_updated", { node_id: "a", node: { id: "a" } }, "briefs bodies"],
  ["node_deleted", { node_id: "c" }, "flow merging"],
  ["flow_updated", { flow_id: "f1", name: "renamed" }, "outdated"],
  ["flow_updated", { flow_id: "f9", name: "new" }, "outdated"],
  ["resync_required", {}, "outdated bodies"],
  ["steering_waits", { trace_id: "t", waiting: UNHEARD }, "turns"],
  [
    "final",
    { type: "final", trace_id: "t", seq: 9, node_id: "d", stage: [{ cue: "close" }], unheard: UNHEARD },
    "turns merging returned",
  ],
];

for (const [name, data, named] of TOLD)
  test(`${name} changes ${named} and nothing else: ${JSON.stringify(data)}`, () => {
    const next = /** @type {any} */ (tell(FULL, name, data));
    const changed = Object.keys({ ...FULL, ...next }).filter(
      (key) => !Object.is(next[key], /** @type {any} */ (FULL)[key]),
    );
    assert.deepEqual(changed.sort(), named.split(" ").sort());
  });

test("a node that comes or goes leaves the rest of its flow", () => {
  const come = tell(FULL, "node_created", {
    node_id: "x",
    flow_id: "f1",
    parents: [{ source: "d" }],
    node: { id: "x" },
  });
  assert.deepEqual(come.flow, { ...FLOW, nodes: [...FLOW.nodes, "x"], connections: edges("ab", "bc", "bd", "dx") });
  assert.equal(come.flow.base, FLOW.base, "it only grew");
  const gone = tell(FULL, "node_deleted", { node_id: "c" });
  assert.deepEqual(gone.flow, { ...FLOW, nodes: ["a", "b", "d"], connections: edges("ab", "bd") });
  assert.notEqual(gone.flow.base, FLOW.base);
  assert.deepEqual([gone.selected, gone.merging], ["d", ["a"]]);
  const left = tell(FULL, "node_deleted", { node_id: "d" });
  assert.deepEqual([left.selected, left.merging], ["c", ["a"]], "the others that were chosen");
  const alone = { ...FULL, merging: [] };
  assert.equal(tell(alone, "node_deleted", { node_id: "d" }).selected, "b", "the turn before");
  assert.equal(tell({ ...alone, selected: "a" }, "node_deleted", { node_id: "a" }).selected, null);
  assert.deepEqual(tell(FULL, "node_deleted", { node_id: "b" }).flow.connections, []);
});

test("a beginning joins the days and the tries that there are, and a later turn does not", () => {
  const old = { ...FULL, flow: { ...FLOW, tries: { c: "a" }, begun: { a: "2026-01-01" } } };
  const node = { id: "x", timestamp: "2026-02-02" };
  const first = tell(old, "node_created", { node_id: "x", flow_id: "f1", parents: [], node, beginning: "a" });
  assert.deepEqual(first.flow.tries, { c: "a", x: "a" });
  assert.deepEqual(first.flow.begun, { a: "2026-01-01", x: "2026-02-02" });
  const later = tell(old, "node_created", { node_id: "x", flow_id: "f1", parents: [{ source: "d" }], node });
  assert.deepEqual([later.flow.tries, later.flow.begun], [old.flow.tries, old.flow.begun]);
});

test("turns are chosen together and one by one", () => {
  assert.deepEqual(reduce(FULL, { kind: "merge", id: "b" }).merging, ["c", "a", "b"]);
  const less = reduce({ ...FULL, turn: null }, { kind: "toggle", id: "d" });
  assert.deepEqual([less.selected, less.merging, less.joining], ["c", ["a"], false]);
  const more = reduce({ ...FULL, turn: null }, { kind: "toggle", id: "b" });
  assert.deepEqual([more.selected, more.merging], ["d", ["c", "a", "b"]]);
});

test("a fold closes and opens one line", () => {
  assert.deepEqual([...reduce(FULL, { kind: "fold", id: "c", folded: true }).folded], ["a", "b", "c"]);
  assert.deepEqual([...reduce(FULL, { kind: "fold", id: "a", folded: false }).folded], ["b"]);
});

test("a search without figures has none, and its hits are plain lines", () => {
  const state = reduce(FULL, { kind: "search", text: "x", hits: ["b"] });
  assert.deepEqual(state.search, { text: "x", filters: {}, hits: ["b"], total: 0, unread: 0 });
  const line = { id: "b", level: 1, kind: "turn", from: null, merges: [], branches: 0, holds: false, folded: false };
  assert.deepEqual([...createSelectors().rows(state)], [line]);
});

test("a page begins with the conversation and the graph, and with nothing open over them", () => {
  const { filters, notify, panels, due, tab, graph, drawer, dialog } = EMPTY.view;
  assert.deepEqual([filters, notify, drawer, graph], [false, false, false, true]);
  assert.deepEqual([panels, due, tab, dialog], [{}, [], "talk", ""]);
  assert.deepEqual(EMPTY.search, { text: "", filters: {}, hits: null, total: 0, unread: 0 });
});

test("only turns of the flow in sight are in sight", () => {
  const other = begin({ trace_id: "o", flow_id: "other", prompt: "p", parents: [] }, 0);
  const state = { ...FULL, turn: null, turns: new Map([["o", other], ...FULL.turns]) };
  assert.deepEqual([...turnsOfFlow(state).keys()], ["t"]);
  assert.equal(turnInSight(state)?.traceId, "t");
  assert.equal(turnInSight({ ...state, turns: new Map([["o", other]]) }), null);
  const over = tell(FULL, "final", { type: "final", trace_id: "t", seq: 9, node_id: "d", stage: [{ cue: "close" }] });
  assert.equal(turnInSight(over), null, "one that has ended is not at work");
});

test("a flow that comes for the first time shows the turn that begins it, and later ones do not", () => {
  const beginning = begin({ trace_id: "n", flow_id: "f1", prompt: "p", parents: [] }, 0);
  const fresh = { ...FULL, selected: null, merging: [], turn: null, placed: false, turns: new Map([["n", beginning]]) };
  const first = reduce(fresh, { kind: "flow", flow: FLOW });
  assert.deepEqual([first.turn, first.placed], ["n", true]);
  assert.equal(reduce({ ...fresh, placed: true }, { kind: "flow", flow: FLOW }).turn, null);
  assert.equal(reduce({ ...fresh, selected: "a" }, { kind: "flow", flow: FLOW }).turn, null);
});

test("a flow that grew in one place keeps the connections of the others", () => {
  const selectors = createSelectors();
  selectors.topology(FULL);
  const next = tell(FULL, "node_created", {
    node_id: "x",
    flow_id: "f1",
    parents: [{ source: "a" }],
    node: { id: "x" },
  });
  const topology = selectors.topology(next);
  assert.deepEqual(topology.children, [[1, 4], [2, 3], [], [], []]);
  assert.deepEqual(topology.parents, [[], [0], [1], [1], [0]]);
});

test("connections to nowhere are left out, and what points back or at itself is put in order", () => {
  const lost = topologyOf({ nodes: ["a", "b"], connections: edges("ab", "xb", "ax") });
  assert.deepEqual(
    [lost.parents, lost.children, lost.order],
    [
      [[], [0]],
      [[1], []],
      [0, 1],
    ],
  );
  const back = topologyOf({ nodes: ["c", "b", "a"], connections: edges("ab", "bc") });
  assert.deepEqual(back.order, [2, 1, 0]);
  const itself = topologyOf({ nodes: ["a", "b"], connections: edges("aa") });
  assert.deepEqual(itself.order, [1, 0]);
  const first = topologyOf({ nodes: ["c", "a", "d"], connections: edges("ac", "ad") });
  assert.deepEqual(first.primary, [-1, 0, -1], "the first child goes on in line, also where it stands first of all");
});

test("where a connection's ends stood when the flow was read counts for as long as they stand there", () => {
  const connections = [
    { source: "a", target: "b", from: 0, to: 1 },
    { source: "b", target: "d", from: 1, to: 3 },
  ];
  assert.deepEqual(topologyOf({ nodes: ["a", "b", "c", "d"], connections }).parents, [[], [0], [], [1]]);
  assert.deepEqual(topologyOf({ nodes: ["b", "c", "d", "a"], connections }).parents, [[3], [], [0], []]);
});

test("what is added out of order is put in order behind what was there", () => {
  const base = () => topologyOf({ nodes: ["a", "b"], connections: edges("ab") });
  const ids = (/** @type {ReturnType<typeof base>} */ topology) =>
    topology.order.map((place) => topology.ids[place]).join("");
  assert.equal(ids(grown(base(), ["d", "c", "e"], edges("cd", "bc", "de"))), "abcde");
  assert.equal(ids(grown(base(), ["e", "d", "c"], edges("de", "cd", "ac"))), "abcde");
  assert.equal(ids(grown(base(), ["f", "c", "d", "e"], edges("cf", "df", "ac", "bd"))), "abcdfe");
  assert.equal(ids(grown(base(), ["x", "y", "z"], edges("xy", "yx", "bz"))), "abzxy", "a circle comes last");
});

test("a line that others lead to once more has no second place, and holds what it holds", () => {
  const rows = rowsOf(topologyOf({ nodes: ["a", "b", "c", "d"], connections: edges("ab", "ac", "cd", "bd") }));
  const shown = rows.map(({ id, level, kind, holds }) => `${id}${level}${kind[0]}${holds ? "+" : ""}`);
  assert.deepEqual(shown, ["a1s+", "b2t", "c2b+", "d3t"]);
});
