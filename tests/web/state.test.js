// The page's own logic, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { missingWords } from "../../src/nebula/web/lib/words.js";
import { lanesOf } from "../../src/nebula/web/state/lanes.js";
import { continuing, EMPTY, isBusy, reduce, turnHere, turnInSight } from "../../src/nebula/web/state/reduce.js";
import { pathTo, rowsOf, topologyOf } from "../../src/nebula/web/state/topology.js";
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

test("a line keeps its level and branches stand one in", () => {
  const rows = rowsOf(topologyOf(BRANCHED)).map((row) => `${row.id}${row.level}${row.branches}`);
  assert.deepEqual(rows, ["a11", "x20", "y20", "b10", "c10", "d10", "m10"]);
  const folded = rowsOf(topologyOf(BRANCHED), new Set(["a"])).map((row) => row.id);
  assert.deepEqual(folded, ["a", "b", "c", "d", "m"]);
});

test("a circle made by hand hangs nothing", () => {
  const circle = topologyOf(flow("ab", "ba", "bc"));
  assert.deepEqual(rowsOf(circle).map((row) => row.id).sort(), ["a", "b", "c"]);
  assert.equal(pathTo(circle, "c").length, 3);
  assert.equal(lanesOf(circle).lane.length, 3);
});

test("lanes do not overlap and are given back", () => {
  const topology = topologyOf(flow("ab", "bc", "cd", "de", "ef", "ax", "dy"));
  const { lane, depth } = lanesOf(topology);
  const places = Object.fromEntries(topology.ids.map((id, place) => [id, `${lane[place]},${depth[place]}`]));
  assert.deepEqual([..."abcdef"].map((id) => places[id]), [0, 1, 2, 3, 4, 5].map((row) => `0,${row}`));
  assert.deepEqual([places.x[0], places.y[0]], ["1", "1"]);
  assert.equal(new Set(Object.values(places)).size, topology.ids.length);
});

test("a new turn at the end moves nothing", () => {
  const grown = { nodes: [...BRANCHED.nodes, "n"], connections: [...BRANCHED.connections, { source: "m", target: "n" }] };
  const before = lanesOf(topologyOf(BRANCHED)).lane;
  assert.deepEqual(lanesOf(topologyOf(grown)).lane.slice(0, before.length), before);
});

test("a very long flow is laid out without recursion", () => {
  const nodes = Array.from({ length: 50000 }, (_, n) => String(n));
  const connections = nodes.slice(1).map((target, n) => ({ source: String((n + 1) % 12 ? n : n - 5), target }));
  const topology = topologyOf({ nodes, connections: connections.filter(({ source }) => Number(source) >= 0) });
  assert.deepEqual([rowsOf(topology).length, lanesOf(topology).lane.length], [50000, 50000]);
});

// Turns

const event = (state, name, data) => reduce(state, { kind: "event", name, data: { type: name, ...data }, now: 0 });

function turnEvents(traceId, flowId, parents, more = {}) {
  const own = { trace_id: traceId, flow_id: flowId };
  return {
    task: { ...own, seq: 1, prompt: `prompt of ${traceId}`, parents, stage: [{ cue: "curtain" }] },
    approval: { ...own, seq: 2, tool_use_id: "c", stage: [{ cue: "ask", approval_id: `q-${traceId}`, path: "f", diff: "", tool_use_id: "c" }] },
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
  assert.deepEqual(turn.said.map((each) => each.text), ["one", "two"]);
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
  assert.deepEqual(state.backstage, []);
});

test("the prompt of a turn without an answer goes back to the page that sent it, and to no other", () => {
  const events = turnEvents("t", "main", []);
  const ended = (state) => event(event(state, "task", events.task), "final", events.final);
  assert.equal(ended(at("main")).returned, null);
  const sent = ended(reduce(at("main"), { kind: "sent", traceId: "t" }));
  assert.equal(sent.returned?.prompt, "prompt of t");
  assert.equal(reduce(sent, { kind: "taken_back" }).returned, null);
  const answered = turnEvents("t", "main", [], { node_id: "n" });
  const kept = event(event(reduce(at("main"), { kind: "sent", traceId: "t" }), "task", answered.task), "final", answered.final);
  assert.deepEqual([kept.returned, kept.selected], [null, "n"]);
});

const back = (state, turns, resumed = false) => reduce(state, { kind: "hello", modes: [], turns, resumed, now: 0 });
const loaded = (state, ...nodes) => reduce(state, { kind: "flow", flow: { id: "main", name: "main", nodes, connections: [] } });

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
  const under = { trace_id: "t", flow_id: "main", prompt: "p", parents: ["a"], approval: { type: "approval", ...approval } };
  const state = reduce(at("main", "a"), { kind: "hello", modes: [], turns: [under], resumed: false, now: 0 });
  assert.deepEqual([turnInSight(state)?.prompt, turnInSight(state)?.ask?.approval_id], ["p", "q-t"]);
});

// Events of the graph

test("events change the state and say when to fetch", () => {
  let state = reduce(EMPTY, { kind: "flows", flows: [{ id: "f", name: "main" }] });
  state = reduce(state, { kind: "flow", flow: { id: "f", name: "main", nodes: ["a"], connections: [] } });
  state = event(state, "node_created", { node_id: "b", flow_id: "f", parents: [{ source: "a" }], node: { id: "b", title: "B" } });
  state = event(state, "flow_updated", { flow_id: "f", name: "main", node_count: 2, connection_count: 1, only_grew: true });
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
