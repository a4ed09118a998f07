// The page's own logic, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { missingWords } from "../../src/nebula/web/lib/words.js";
import { layoutOf } from "../../src/nebula/web/graph/layout/layout.js";
import { reduce } from "../../src/nebula/web/state/reduce.js";
import { EMPTY } from "../../src/nebula/web/state/state.js";
import { createSelectors } from "../../src/nebula/web/state/selectors.js";
import { decided, roundsOf, stepsOf } from "../../src/nebula/web/backstage/tool_log.js";
import {
  grown,
  neighbour,
  nextFork,
  pathTo,
  siblingsOf,
  topologyOf,
  wouldCircle,
} from "../../src/nebula/web/state/topology.js";
import { rowsOf } from "./rows.js";

function flow(...edges) {
  const connections = edges.map(([source, target]) => ({ source, target }));
  return { nodes: [...new Set(edges.flatMap(([source, target]) => [source, target]))], connections };
}

const BRANCHED = flow("ab", "bc", "cd", "ax", "xy", "dm", "ym");

test("both languages say the same", () =>
  assert.deepEqual(missingWords(), [], `lib/words has no words for ${missingWords()}`));

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

// Two tries of a race that began from nothing, another conversation between them; the first of them ended last.
const RACED = { ...flow("bc", "uv"), tries: { b: "a", d: "a" } };
RACED.nodes.push("d", "a");

test("tries of one beginning are siblings in outline, picture and steps", () => {
  const topology = topologyOf(RACED);
  const rows = rowsOf(topology).map((row) => `${row.id}${row.level}${row.kind}${row.from ?? ""}`);
  assert.deepEqual(rows, ["b1start", "c2turn", "d1tryb", "a1tryb", "u1start", "v2turn"]);
  const names = (id) => siblingsOf(topology, topology.index.get(id)).map((place) => topology.ids[place]);
  assert.deepEqual([names("a"), names("u"), names("c")], [["b", "d", "a"], ["u"], ["c"]]);
  assert.equal(neighbour(topology, "b", "right"), "d");
  assert.equal(neighbour(topology, "a", "right"), "u");
  const { region } = layoutOf(topologyOf({ nodes: ["u", "b", "w", "d"], connections: [], tries: { d: "b" } }));
  assert.deepEqual(region, [0, 1, 2, 1]);
});

test("tries that come one after the other are the siblings they are in a picture made anew", () => {
  const { nodes, connections, tries } = RACED;
  const begun = topologyOf({ nodes: nodes.slice(0, 4), connections, tries: { b: "a" } });
  assert.deepEqual(rowsOf(grown(begun, ["d", "a"], [], tries)), rowsOf(topologyOf(RACED)));
  const late = grown(topologyOf({ nodes: ["a"], connections: [] }), ["b"], [], { b: "a" });
  assert.deepEqual(
    rowsOf(late).map((row) => row.kind),
    ["start", "try"],
  );
});

test("a try that was connected to another turn since is a branch of that", () => {
  const topology = topologyOf({
    nodes: ["a", "b", "x"],
    connections: [{ source: "x", target: "b" }],
    tries: { b: "a" },
  });
  assert.deepEqual(
    rowsOf(topology).map((row) => `${row.id}${row.kind}`),
    ["astart", "xstart", "bturn"],
  );
});

test("a node that begins what another began says so when it comes", () => {
  const node = (id, more = {}) => ({
    name: "node_created",
    data: { node_id: id, flow_id: "f", parents: [], node: { id }, ...more },
  });
  const state = reduce(EMPTY, { kind: "events", now: 0, events: [node("a"), node("b", { beginning: "a" })] });
  assert.deepEqual(state.flow.tries, { b: "a" });
  assert.equal(createSelectors().rows(state).at(1)?.kind, "try");
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
    layoutOf(circle).region.map((region) => region >= 0),
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

test("what is added one by one is the same when read at once", () => {
  let topology = topologyOf({ nodes: [], connections: [] });
  for (const { nodes, connections, added, target } of growing(400)) {
    topology = grown(topology, [target], added);
    if (nodes.length % 100 === 0) {
      const anew = topologyOf({ nodes, connections });
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
    [...selectors.rows(next)].map((row) => row.id),
    ["a", "b"],
  );
  assert.deepEqual(selectors.layout(next).row, [0, 1]);
  const gone = event(next, "node_deleted", { node_id: "a" });
  assert.deepEqual(
    [...selectors.rows(gone)].map((row) => row.id),
    ["b"],
  );
});

test("one turn is no graph; with one at work it is, which counts once", () => {
  const { isGraph } = createSelectors();
  const one = reduce(EMPTY, { kind: "flow", flow: { id: "f", name: "f", nodes: ["a"], connections: [] } });
  const working = (trace_id) => event(one, "task", { type: "task", trace_id, flow_id: "f", prompt: "p", parents: [] });
  assert.deepEqual([one, working("b"), working("a")].map(isGraph), [false, true, false]);
});

test("a run of turns without a branch folds into one place", () => {
  const topology = topologyOf(flow("ab", "bc", "cd", "de", "ef", "ax"));
  const folded = layoutOf(topology, { folding: true });
  assert.deepEqual([...folded.runs], [[topology.index.get("c"), 3]]);
  assert.deepEqual(
    [..."abcdefx"].map((id) => folded.row[topology.index.get(id)]),
    [0, 1, 2, 2, 2, 3, 1],
  );
  assert.deepEqual(layoutOf(topology, { folding: true, opened: new Set(["c"]) }).runs.size, 0);
});

test("a very long flow is laid out without recursion", () => {
  const nodes = Array.from({ length: 50000 }, (_, n) => String(n));
  const connections = nodes.slice(1).map((target, n) => ({ source: String((n + 1) % 12 ? n : n - 5), target }));
  const topology = topologyOf({ nodes, connections: connections.filter(({ source }) => Number(source) >= 0) });
  assert.deepEqual(
    [rowsOf(topology).length, layoutOf(topology).x.length, layoutOf(topology, { folding: true }).row.length],
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
    nodes: ["c", "a", "b", "m"],
    connections: [
      { source: "a", target: "m" },
      { source: "b", target: "m" },
      { source: "b", target: "c" },
    ],
  });
  const place = (id) => topology.index.get(id);
  assert.equal(topology.primary[place("a")], place("m"));
  assert.equal(topology.primary[place("b")], place("c"), "the merge is the other parent's line");
  assert.equal(neighbour(topology, "b", "down"), "c");
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
    [...selectors.rows(state)].map(({ id, level }) => `${id}${level}`),
    ["c1", "elsewhere1"],
  );
  assert.deepEqual([selectors.placeOfRow(state), [...selectors.hits(state)]], [0, ["c", "elsewhere"]]);
  assert.deepEqual([...selectors.pathSet(state)], ["a", "b", "c"]);
  state = reduce(state, { kind: "select", id: null });
  assert.equal(selectors.placeOfRow(state), -1);
});

const EDIT = { id: "t1", name: "editFile", args: { edits: [{ old_text: "a\n", new_text: "b\n\n" }] } };

const REMARK = "A part was left out:\n@@ -7 +7 @@\n-c\n+d\n";
const TAKEN = { tool_use_id: "t1", content: [{ Json: { remark: REMARK } }] };

test("the model's list of steps is read from the last call that wrote it", () => {
  const round = (/** @type {unknown} */ items) => ({
    role: "tool",
    text: JSON.stringify({ message: { ToolUse: { tool_uses: [{ name: "todo", args: { items } }] } }, results: [] }),
  });
  const step = { content: "look", status: "completed" };
  assert.deepEqual(stepsOf([round([{ content: "old", status: "pending" }]), round([step, { odd: 1 }, null])]), [step]);
  assert.deepEqual(stepsOf([round("no list"), { role: "tool", text: "no JSON" }]), []);
});

test("what a reader decided is read from a turn's log, and a plain yes is not", () => {
  const round = (/** @type {unknown} */ decisions) => ({
    role: "tool",
    text: JSON.stringify({ message: { ToolUse: { tool_uses: [EDIT] } }, results: [TAKEN], decisions }),
  });
  const part = { about: "a.py", answer: "hunks 1, 3", taken: 2, of: 3, tool_use_id: "t1" };
  const no = { about: "b.py", answer: "keep it", refused: true };
  assert.deepEqual(decided([round([part, { about: "c.py", answer: "yes" }, no])]), [
    { ...part, proposed: "@@ -1,1 +1,2 @@\n-a\n+b\n+\n", left: "@@ -7 +7 @@\n-c\n+d\n" },
    { ...no, proposed: "", left: "" },
  ]);
  for (const odd of [3, null, ["x", null, { about: 1, answer: "no", refused: true }]])
    assert.deepEqual(decided([round(odd)]), []);
});
