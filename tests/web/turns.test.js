// Which turn is before the reader, and what becomes of the state by events.

import assert from "node:assert/strict";
import { test } from "node:test";

import { continuing, isBusy, steerable, turnHere, turnInSight } from "../../src/nebula/web/state/here.js";
import { liveTurns } from "../../src/nebula/web/graph/live.js";
import { reduce } from "../../src/nebula/web/state/reduce.js";
import { EMPTY } from "../../src/nebula/web/state/state.js";
import { begin, isOver, LOST, lost, perform } from "../../src/nebula/web/state/turn.js";
import { reconciled, stopping, waiting } from "../../src/nebula/web/state/turns.js";

function event(state, name, data) {
  return reduce(state, { kind: "events", events: [{ name, data: { type: name, ...data } }], now: 0 });
}

const send = (state, traceId = "t", from = []) => {
  const sending = reduce(state, { kind: "sending", prompt: `prompt of ${traceId}`, from });
  return reduce(sending, { kind: "sent", traceId, prompt: `prompt of ${traceId}`, from, flowId: "main", now: 0 });
};
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

test("a prompt is before the reader from the moment it is sent, and comes back if it could not be", () => {
  const sending = reduce(at("main"), { kind: "sending", prompt: "p", from: [] });
  assert.deepEqual(sending.sending, { prompt: "p", parents: [] });
  const failed = reduce(sending, { kind: "unsent", prompt: "p" });
  assert.deepEqual([failed.sending, failed.returned?.prompt], [null, "p"]);
  const sent = send(at("main", "a"), "t", ["a"]);
  assert.deepEqual([turnHere(sent)?.prompt, turnHere(sent)?.parents, sent.sending], ["prompt of t", ["a"], null]);
});

test("who went elsewhere before the server took the prompt stays there", () => {
  const sending = reduce(at("main", "a"), { kind: "sending", prompt: "p", from: [] });
  const gone = reduce(sending, { kind: "select", id: "a" });
  const sent = reduce(gone, { kind: "sent", traceId: "t", prompt: "p", from: [], flowId: "main", now: 0 });
  assert.deepEqual([turnHere(sent), sent.selected, sent.sent.has("t")], [null, "a", true]);
});

test("a new conversation is new, whatever is being begun", () => {
  let state = send(at("main"));
  assert.equal(steerable(state)?.traceId, "t");
  state = reduce(state, { kind: "select", id: null });
  assert.deepEqual([steerable(state), isBusy(state), continuing(state)], [null, false, []]);
  assert.equal(turnInSight(state)?.traceId, "t", "the strip leads back");
  state = send(state, "u");
  assert.equal(turnHere(state)?.traceId, "u");
  state = event(state, "final", turnEvents("t", "main", [], { node_id: "t" }).final);
  assert.deepEqual([state.selected, turnHere(state)?.traceId], [null, "u"], "nobody is carried off");
  state = reduce(state, { kind: "watch", traceId: "u" });
  assert.equal(turnHere(state)?.traceId, "u");
});

test("somebody else's beginning captures nobody", () => {
  const state = event(at("main"), "task", turnEvents("t", "main", []).task);
  assert.deepEqual([steerable(state), turnHere(state)], [null, null]);
  assert.equal(turnInSight(state)?.traceId, "t");
  const chosen = reduce(at("main", "a"), { kind: "select", id: "a" });
  assert.equal(steerable(event(chosen, "task", turnEvents("t", "main", ["a"]).task)), null);
});

test("whoever comes while a conversation is being begun sees it", () => {
  const come = reduce(EMPTY, {
    kind: "hello",
    modes: ["agent"],
    turns: [
      { trace_id: "old", flow_id: "main", prompt: "o", parents: [] },
      { trace_id: "t", flow_id: "main", prompt: "p", parents: [] },
      { trace_id: "x", flow_id: "main", prompt: "x", parents: ["a"] },
    ],
    resumed: false,
    now: 0,
  });
  const state = loaded(come, "a");
  assert.equal(turnHere(state)?.traceId, "t");
  assert.equal(turnHere(loaded(reduce(state, { kind: "select", id: null }), "a")), null, "but only at first");
});

test("several turns from one node: going back there leads to the newest at work, and beside it there is room", () => {
  let state = send(reduce(at("main", "a", "b"), { kind: "select", id: "a" }), "t", ["a"]);
  state = reduce(state, { kind: "beside" });
  assert.deepEqual([steerable(state), continuing(state)], [null, ["a"]]);
  state = send(state, "u", ["a"]);
  assert.equal(turnHere(state)?.traceId, "u");
  state = reduce(state, { kind: "select", id: "b" });
  assert.equal(isBusy(state), false, "another branch is free");
  assert.equal(turnHere(reduce(state, { kind: "select", id: "a" }))?.traceId, "u");
  state = event(state, "final", turnEvents("u", "main", ["a"], { node_id: "u" }).final);
  assert.equal(turnHere(reduce(state, { kind: "select", id: "a" }))?.traceId, "t", "the one that ended is not at work");
  state = reduce(state, { kind: "watch", traceId: "t" });
  assert.deepEqual([state.selected, turnHere(state)?.traceId, state.view.tab], ["a", "t", "talk"]);
});

test("the order of those that a turn merges does not matter", () => {
  let state = event(at("main", "a", "b"), "task", turnEvents("t", "main", ["b", "a"]).task);
  state = reduce(state, { kind: "select", id: "a" });
  assert.equal(turnHere(state), null, "it continues more than that");
  state = reduce(state, { kind: "merge", id: "b" });
  assert.equal(turnHere(state)?.traceId, "t");
  assert.equal(turnHere(reduce(state, { kind: "unmerge", id: "b" })), null);
  assert.equal(turnHere(reduce(state, { kind: "toggle", id: "b" })), null);
});

test("the reader goes on at the node of the turn before them, and at no other", () => {
  const ends = turnEvents("t", "main", ["a"], { node_id: "n" });
  const here = send(reduce(at("main", "a", "b"), { kind: "select", id: "a" }), "t", ["a"]);
  assert.equal(event(here, "final", ends.final).selected, "n");
  const away = reduce(here, { kind: "select", id: "b" });
  assert.equal(event(away, "final", ends.final).selected, "b");
  const merging = event({ ...here, merging: ["b"] }, "final", ends.final);
  assert.deepEqual(merging.merging, []);
});

test("an end that comes before the server's answer counts all the same", () => {
  const { task, final } = turnEvents("t", "main", [], { node_id: "n" });
  let state = reduce(at("main"), { kind: "sending", prompt: "p", from: [] });
  state = event(event(state, "task", task), "final", final);
  state = reduce(state, { kind: "sent", traceId: "t", prompt: "p", from: [], flowId: "main", now: 0 });
  assert.equal(state.selected, "n");
});

test("a question is seen from everywhere in the flow, before any other turn at work", () => {
  let state = event(at("main", "a", "b"), "task", turnEvents("t", "main", ["a"]).task);
  state = event(state, "approval", turnEvents("t", "main", ["a"]).approval);
  state = event(state, "task", turnEvents("u", "main", ["b"]).task);
  assert.equal(turnInSight(state)?.ask?.approval_id, "q-t");
});

test("plain chat hears nothing while it answers", () => {
  const state = send({ ...at("main"), modes: ["chat"] });
  assert.deepEqual([steerable(state), isBusy(state)], [null, true]);
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
  const sent = ended(send(at("main")));
  assert.equal(sent.returned?.prompt, "prompt of t");
  assert.equal(reduce(sent, { kind: "taken_back" }).returned, null);
  const answered = turnEvents("t", "main", [], { node_id: "n" });
  const kept = event(event(send(at("main")), "task", answered.task), "final", answered.final);
  assert.deepEqual([kept.returned, kept.selected], [null, "n"]);
});

const back = (state, turns, resumed = false) => reduce(state, { kind: "hello", modes: [], turns, resumed, now: 0 });
const loaded = (state, ...nodes) =>
  reduce(state, { kind: "flow", flow: { id: "main", name: "main", nodes, connections: [] } });

function underWay() {
  return event(send(at("main")), "task", turnEvents("t", "main", []).task);
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
  assert.deepEqual([state.returned, state.selected, turnHere(state)?.nodeId], [null, "t", "t"]);
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
  assert.deepEqual([state.flow.nodes.join(), state.flow.connections.length, state.selected], ["b", 0, "b"]);
});

test("an answer does not hide that something was heard meanwhile", () => {
  let state = reduce({ ...EMPTY, outdated: true }, { kind: "asking" });
  assert.equal(state.outdated, false);
  state = event(state, "resync_required", {});
  state = reduce(state, { kind: "flow", flow: { id: "f", name: "main", nodes: [], connections: [] } });
  assert.equal(state.outdated, true);
});

const grew = (more) => ({ flow_id: "f", name: "main", only_grew: true, node_count: 1, connection_count: 0, ...more });

test("a flow that is not as it is said to be is fetched", () => {
  let state = reduce(EMPTY, { kind: "flows", flows: [{ id: "f", name: "main" }] });
  state = reduce(state, { kind: "flow", flow: { id: "f", name: "main", nodes: ["a"], connections: [] } });
  const isOutdated = (data) => event(state, "flow_updated", data).outdated;
  assert.equal(isOutdated(grew({})), false);
  assert.equal(isOutdated(grew({ node_count: 2 })), true, "a node that was not heard of");
  assert.equal(isOutdated(grew({ connection_count: 1 })), true);
  assert.equal(isOutdated(grew({ only_grew: false })), true);
  assert.equal(isOutdated(grew({ name: "renamed" })), true);
  assert.equal(isOutdated(grew({ flow_id: "g" })), true, "a flow that is not known");
  const known = reduce(state, { kind: "flows", flows: [...state.flows, { id: "g", name: "side" }] });
  assert.equal(event(known, "flow_updated", grew({ flow_id: "g", name: "side", node_count: 9 })).outdated, false);
  assert.equal(event(known, "flow_updated", { flow_id: "g", name: "side", deleted: true }).outdated, true);
});

test("what was missed makes every turn be read again, and takes no text away until then", () => {
  const state = reduce(at("main", "a", "b"), { kind: "body", node: { id: "a", prompt: "p", response: "", tags: [] } });
  const { outdated, bodies } = event(state, "resync_required", {});
  assert.deepEqual([outdated, bodies.get("a")?.prompt, bodies.get("a")?.isOutdated], [true, "p", true]);
});

test("an updated node is read again, and a deleted one is gone from everywhere", () => {
  let state = reduce(at("main", "a", "b"), { kind: "body", node: { id: "a", prompt: "p", response: "", tags: [] } });
  state = event(state, "node_updated", { node_id: "a", node: { id: "a", title: "new" } });
  assert.deepEqual([state.bodies.get("a")?.prompt, state.bodies.get("a")?.isOutdated], ["p", true]);
  assert.equal(state.briefs.get("a")?.title, "new");
  state = reduce(reduce(state, { kind: "select", id: "a" }), { kind: "merge", id: "b" });
  state = event(state, "node_deleted", { node_id: "b" });
  assert.deepEqual([state.selected, state.merging, state.flow.nodes], ["a", [], ["a"]]);
  const before = state.flow.base;
  assert.notEqual(event(state, "node_deleted", { node_id: "a" }).flow.base, before);
});

test("nodes of one batch join the flow in order, once each, and none of another flow", () => {
  const made = (id, flowId = "main", parents = []) => ({
    name: "node_created",
    data: { node_id: id, flow_id: flowId, parents: parents.map((source) => ({ source })), node: { id, title: id } },
  });
  const batch = [made("b", "main", ["a"]), made("b"), made("x", "other"), made("c", "main", ["a", "b"])];
  const state = reduce(at("main", "a"), { kind: "events", events: batch, now: 0 });
  assert.deepEqual(state.flow.nodes, ["a", "b", "c"]);
  assert.deepEqual(
    state.flow.connections.map(({ source, target }) => source + target),
    ["ab", "ac", "bc"],
  );
  assert.equal(state.briefs.get("x")?.title, "x");
  const first = reduce(EMPTY, { kind: "events", events: [made("p", "f"), made("q", "g")], now: 0 });
  assert.deepEqual([first.flow.id, first.flow.nodes], ["f", ["p"]], "the first one says which flow `main` is");
  const elsewhere = reduce({ ...EMPTY, flowId: "side" }, { kind: "events", events: [made("p", "f")], now: 0 });
  assert.deepEqual(elsewhere.flow.nodes, []);
});

test("four thousand nodes on top of four thousand are taken in within a second, however they are cut up", () => {
  const ids = Array.from({ length: 4000 }, (_, number) => `n${number}`);
  const made = ids.map((id, number) => ({
    name: "node_created",
    data: { node_id: id, flow_id: "main", parents: [{ source: ids[number - 1] ?? "a0" }], node: { id, title: id } },
  }));
  const old = Array.from({ length: 4000 }, (_, number) => `a${number}`);
  let state = at("main", ...old);
  const start = process.cpuUsage().user;
  for (let place = 0; place < made.length; place += 64)
    state = reduce(state, { kind: "events", events: made.slice(place, place + 64), now: 0 });
  const seconds = (process.cpuUsage().user - start) / 1e6;
  assert.equal(state.flow.nodes.length, 8000);
  assert.ok(seconds < 1, `${seconds} s`);
});

test("what was said too late goes back to the page that said it, behind the prompt", () => {
  let state = reduce(send(at("main")), { kind: "steered", steeringId: "s1" });
  const unheard = [
    { steering_id: "s1", text: "mine" },
    { steering_id: "s2", text: "theirs" },
  ];
  state = event(state, "steering_waits", { trace_id: "t", waiting: unheard });
  assert.deepEqual(turnHere(state)?.waiting, unheard);
  const { final } = turnEvents("t", "main", []);
  assert.equal(event(state, "final", { ...final, unheard }).returned?.prompt, "prompt of t\n\nmine");
  assert.equal(event(state, "final", { ...final, node_id: "n", unheard }).returned?.prompt, "mine");
});

test("what stands beside new nodes in a batch is not taken for one of them", () => {
  const made = (id) => ({ name: "node_created", data: { node_id: id, flow_id: "main", parents: [], node: { id } } });
  const gone = { name: "node_deleted", data: { node_id: "a", flow_id: "main" } };
  const state = reduce(at("main", "a", "b"), { kind: "events", events: [made("c"), gone, made("d")], now: 0 });
  assert.deepEqual(state.flow.nodes, ["b", "c", "d"]);
  assert.equal(state.briefs.has("a"), false);
});

test("chosen in any order, those that a turn merges lead to it", () => {
  const state = event(at("main", "a", "b"), "task", turnEvents("t", "main", ["a", "b"]).task);
  const chosen = reduce(reduce(state, { kind: "select", id: "b" }), { kind: "merge", id: "a" });
  assert.equal(turnHere(chosen)?.traceId, "t");
});

test("of turns that are over twenty are kept, the newest, and every one at work", () => {
  let state = event(at("main"), "task", turnEvents("at work", "main", []).task);
  for (let number = 0; number < 25; number++) {
    const heard = turnEvents(`t${number}`, "main", []);
    state = event(event(state, "task", heard.task), "final", heard.final);
  }
  assert.deepEqual(
    [...state.turns.keys()],
    ["at work", ...Array.from({ length: 19 }, (_, number) => `t${number + 6}`)],
  );
});

test("a turn begins with what is known of it, and what is not is empty", () => {
  const { traceId, flowId, prompt, parents, said, waiting, remarks, backstage, ...rest } = begin({ trace_id: "t" }, 7);
  assert.deepEqual([traceId, flowId, prompt], ["t", "", ""]);
  assert.deepEqual([parents, said, waiting, remarks, backstage], [[], [], [], [], []]);
  assert.deepEqual(rest, {
    steps: [],
    curtain: false,
    doing: "",
    amount: "",
    curtainSince: 7,
    ask: null,
    line: "",
    status: "",
    nodeId: null,
    stopping: false,
    seq: 0,
  });
});

test("steps of the model's list are told once, then by what became of them", () => {
  const told = (/** @type {any} */ turn, /** @type {number} */ seq, /** @type {any[]} */ items) =>
    perform(turn, { trace_id: "t", seq, type: "todo", stage: [{ cue: "checklist", items }] }, 1);
  const step = (/** @type {string} */ content, /** @type {string} */ status) => ({ content, status });
  let turn = told(begin({ trace_id: "t", prompt: "p" }, 0), 1, [step("a", "in_progress"), step("b", "pending")]);
  assert.equal(turn.prompt, "p");
  turn = told(turn, 2, [step("b", "completed")]);
  assert.deepEqual(turn.steps, [step("a", "in_progress"), step("b", "completed")]);
  turn = told(turn, 3, [step("b", "completed"), step("c", "pending")]);
  assert.deepEqual(turn.steps, [step("b", "completed"), step("c", "pending")], "another list");
});

test("a cue without its text says nothing, and one that fails says what failed", () => {
  const stage = [{ cue: "say" }, { cue: "remark" }, { cue: "backstage" }];
  let turn = perform(begin({ trace_id: "t" }, 0), { trace_id: "t", seq: 1, type: "x", stage }, 1);
  assert.deepEqual([turn.said, turn.remarks], [[{ text: "", act: 2 }], [""]]);
  assert.deepEqual(turn.backstage, [{ title: "", text: "" }]);
  turn = perform(turn, { trace_id: "t", seq: 2, type: "steering" }, 1);
  assert.deepEqual(turn.said.at(-1), { text: "", act: 0 });
  const close = { cue: "close", status: "failed", line: "2 s", failed: ["make"] };
  turn = perform(turn, { trace_id: "t", seq: 3, type: "final", node_id: "n", stage: [close] }, 1);
  assert.deepEqual([turn.status, turn.line, turn.remarks, turn.nodeId], ["failed", "2 s", ["", "make"], "n"]);
});

test("an end that says what was asked is a turn; what is over waits for nobody, and what is stopped says so", () => {
  const { final } = turnEvents("t", "main", []);
  assert.equal(event(at("main"), "final", final).turns.size, 0);
  const ended = event(at("main"), "final", { ...final, prompt: "p" }).turns;
  assert.equal(ended.get("t")?.prompt, "p");
  assert.equal(waiting(ended), null);
  const turns = new Map([["t", begin({ trace_id: "t" }, 0)]]);
  assert.equal(stopping(turns, "t").get("t")?.stopping, true);
  const unheard = [{ steering_id: "s", text: "w" }];
  const known = reconciled(turns, [{ trace_id: "t", waiting: unheard }], true, 0);
  assert.deepEqual(known.get("t")?.waiting, unheard);
  assert.deepEqual(reconciled(known, [{ trace_id: "t" }], true, 0).get("t")?.waiting, []);
});

test("remarks stand one behind the other, and a lost turn has its curtain up", () => {
  const remark = (seq, text) => ({
    trace_id: "t",
    seq,
    type: "x",
    stage: [{ cue: "remark", text }, { cue: "curtain" }],
  });
  const turn = perform(perform(begin({ trace_id: "t" }, 0), remark(1, "one"), 0), remark(2, "two"), 0);
  assert.deepEqual([turn.remarks, turn.curtain], [["one", "two"], true]);
  assert.deepEqual([lost(turn).status, lost(turn).curtain, isOver(lost(turn))], [LOST, false, true]);
});

test("a turn without an answer is shown as failed, but not one that somebody stopped", () => {
  const shown = (status) => {
    const close = { cue: "close", status, line: "" };
    const ended = event(send(at("main")), "final", {
      trace_id: "t",
      flow_id: "main",
      seq: 1,
      node_id: null,
      stage: [close],
    });
    return liveTurns(ended).map(({ kind }) => kind);
  };
  assert.deepEqual([shown("error"), shown("refused"), shown("interrupted")], [["failed"], ["failed"], []]);
});
