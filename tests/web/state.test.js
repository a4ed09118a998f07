// The page's own logic, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { missingWords } from "../../src/nebula/web/lib/words.js";
import { extended, layoutOf } from "../../src/nebula/web/state/layout.js";
import { continuing, EMPTY, isBusy, reduce, turnHere, turnInSight } from "../../src/nebula/web/state/reduce.js";
import { createSelectors } from "../../src/nebula/web/state/selectors.js";
import { roundsOf } from "../../src/nebula/web/state/tool_log.js";
import {
  grown,
  neighbour,
  nextFork,
  pathTo,
  rowsOf,
  topologyOf,
  wouldCircle,
} from "../../src/nebula/web/state/topology.js";
import { begin, isOver, LOST, perform } from "../../src/nebula/web/state/turn.js";

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

// Turns

function event(state, name, data) {
  return reduce(state, { kind: "event", name, data: { type: name, ...data }, now: 0 });
}

function turnEvents(traceId, flowId, parents, more = {}) {
  const own = { trace_id: traceId, flow_id: flowId };
  return {
    task: { ...own, seq: 1, prompt: `prompt of ${traceId}`, parents, stage: [{ cue: "curtain" }] },
    approval: {
      ...own,
      seq: 2,
      tool_use_id: "c",
      stage: [{ cue: "ask", approval_id: `q-${traceId}`, path: "f", diff: "", tool_use_id: "c" }],
    },
    final: { ...own, seq: 3, node_id: null, stage: [{ cue: "close", status: "ok", line: "" }], ...more },
  };
}

function at(flowId, ...nodes) {
  const state = reduce(EMPTY, { kind: "flow", flow: { id: flowId, name: flowId, nodes, connections: [] } });
  return { ...state, flowId };
}

test("the two acts as the stage cues them", () => {
  let turn = begin({ trace_id: "t", flow_id: "main", prompt: "p", parents: [] }, 0);
  const asks = [];
  for (const data of [
    { seq: 1, type: "task", stage: [{ cue: "curtain" }] },
    { seq: 2, type: "message", stage: [{ cue: "say", act: 1, show: "one" }, { cue: "curtain" }] },
    { seq: 3, type: "approval", stage: [{ cue: "ask", approval_id: "q", path: "f", diff: "", tool_use_id: "c" }] },
    { seq: 3, type: "approval", stage: [{ cue: "say", act: 1, show: "heard twice" }] },
    { seq: 4, type: "tool_result", tool_use_id: "c", stage: [{ cue: "curtain" }, { cue: "backstage", title: "x" }] },
    { seq: 5, type: "message", stage: [{ cue: "say", act: 2, show: "two" }] },
    { seq: 6, type: "final", node_id: "t", stage: [{ cue: "close", status: "ok", line: "1 s" }] },
  ]) {
    turn = perform(turn, { trace_id: "t", ...data }, 5);
    asks.push(turn.ask?.approval_id ?? null);
  }
  assert.deepEqual(
    turn.said.map((each) => each.text),
    ["one", "two"],
  );
  assert.deepEqual(asks, [null, null, "q", "q", null, null, null]);
  assert.deepEqual([isOver(turn), turn.nodeId, turn.curtain], [true, "t", false]);
});

test("a turn keeps only its own place waiting", () => {
  let state = reduce(at("main", "a", "b"), { kind: "select", id: "a" });
  state = event(state, "task", turnEvents("t", "main", ["a"]).task);
  assert.equal(isBusy(state), true);
  state = reduce(state, { kind: "select", id: "b" });
  assert.equal(isBusy(state), false, "another branch is free");
  assert.equal(turnInSight(state), null);
  state = event(state, "approval", turnEvents("t", "main", ["a"]).approval);
  assert.equal(turnInSight(state)?.ask?.approval_id, "q-t", "a question is seen from everywhere in the flow");
});

test("turns of another flow are not shown here, and select nothing", () => {
  const other = turnEvents("t", "other", [], { node_id: "n" });
  let state = at("main");
  for (const name of ["task", "approval", "final"]) state = event(state, name, other[name]);
  assert.deepEqual([turnHere(state), turnInSight(state), state.selected, isBusy(state)], [null, null, null, false]);
});

test("the prompt of a turn without an answer goes back to the page that sent it, and to no other", () => {
  const events = turnEvents("t", "main", []);
  const ended = (state) => event(event(state, "task", events.task), "final", events.final);
  assert.equal(ended(at("main")).returned, null);
  const sent = ended(reduce(at("main"), { kind: "sent", traceId: "t" }));
  assert.equal(sent.returned?.prompt, "prompt of t");
  assert.equal(reduce(sent, { kind: "taken_back" }).returned, null);
  const answered = turnEvents("t", "main", [], { node_id: "n" });
  const kept = event(
    event(reduce(at("main"), { kind: "sent", traceId: "t" }), "task", answered.task),
    "final",
    answered.final,
  );
  assert.deepEqual([kept.returned, kept.selected], [null, "n"]);
});

const back = (state, turns, resumed = false) => reduce(state, { kind: "hello", modes: [], turns, resumed, now: 0 });
const loaded = (state, ...nodes) =>
  reduce(state, { kind: "flow", flow: { id: "main", name: "main", nodes, connections: [] } });

function underWay() {
  return event(reduce(at("main"), { kind: "sent", traceId: "t" }), "task", turnEvents("t", "main", []).task);
}

test("a server that comes back without the turn ends it, and the prompt goes back once", () => {
  assert.equal(isBusy(back(underWay(), [{ trace_id: "t", flow_id: "main" }])), true);
  let state = back(underWay(), []);
  assert.deepEqual([isBusy(state), turnHere(state)?.status, state.returned], [false, LOST, null]);
  state = loaded(state);
  assert.equal(state.returned?.prompt, "prompt of t");
  state = reduce(state, { kind: "taken_back" });
  assert.equal(loaded(back(state, [])).returned, null);
});

test("a turn that became a node while the line was broken is not lost", () => {
  const state = loaded(back(underWay(), []), "t");
  assert.deepEqual([state.returned, turnHere(reduce(state, { kind: "select", id: "t" }))?.nodeId], [null, "t"]);
});

test("after a short break the end of a turn is heard, not guessed", () => {
  const state = back(underWay(), [], true);
  assert.equal(isBusy(state), true);
  const ended = event(state, "final", turnEvents("t", "main", [], { node_id: "t" }).final);
  assert.deepEqual([isBusy(ended), ended.returned, ended.selected], [false, null, "t"]);
});

test("who comes later sees the question that waits", () => {
  const { approval } = turnEvents("t", "main", ["a"]);
  const under = {
    trace_id: "t",
    flow_id: "main",
    prompt: "p",
    parents: ["a"],
    approval: { type: "approval", ...approval },
  };
  const state = reduce(at("main", "a"), { kind: "hello", modes: [], turns: [under], resumed: false, now: 0 });
  assert.deepEqual([turnInSight(state)?.prompt, turnInSight(state)?.ask?.approval_id], ["p", "q-t"]);
});

// Events of the graph

test("events change the state and say when to fetch", () => {
  let state = reduce(EMPTY, { kind: "flows", flows: [{ id: "f", name: "main" }] });
  state = reduce(state, { kind: "flow", flow: { id: "f", name: "main", nodes: ["a"], connections: [] } });
  state = event(state, "node_created", {
    node_id: "b",
    flow_id: "f",
    parents: [{ source: "a" }],
    node: { id: "b", title: "B" },
  });
  state = event(state, "flow_updated", {
    flow_id: "f",
    name: "main",
    node_count: 2,
    connection_count: 1,
    only_grew: true,
  });
  assert.deepEqual([state.flow.nodes.join(), state.flow.connections.length, state.outdated], ["a,b", 1, false]);
  state = event(state, "node_created", { node_id: "z", flow_id: "other", parents: [], node: { id: "z" } });
  assert.equal(state.flow.nodes.join(), "a,b");
  const rewired = event(state, "flow_updated", { flow_id: "f", name: "main", node_count: 2, connection_count: 1 });
  assert.equal(rewired.outdated, true, "as many as before, but not only grown");
  state = reduce(state, { kind: "select", id: "b" });
  state = reduce(state, { kind: "merge", id: "b" });
  state = reduce(state, { kind: "select", id: "a" });
  assert.equal(continuing(state).join(), "a,b");
  state = event(state, "node_deleted", { node_id: "a" });
  assert.deepEqual([state.flow.nodes.join(), state.flow.connections.length, state.selected], ["b", 0, null]);
});

test("an answer does not hide that something was heard meanwhile", () => {
  let state = reduce({ ...EMPTY, outdated: true }, { kind: "asking" });
  assert.equal(state.outdated, false);
  state = event(state, "resync_required", {});
  state = reduce(state, { kind: "flow", flow: { id: "f", name: "main", nodes: [], connections: [] } });
  assert.equal(state.outdated, true);
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
