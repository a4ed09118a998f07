// A race as the page follows it, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createStore } from "../../src/nebula/web/app/store.js";
import { liveTurns, placeLive } from "../../src/nebula/web/graph/live.js";
import { layoutOf } from "../../src/nebula/web/graph/layout/layout.js";
import { deedOf, told } from "../../src/nebula/web/lib/deeds.js";
import { speaker } from "../../src/nebula/web/lib/words.js";
import { Rows, single, withLive } from "../../src/nebula/web/outline/lines.js";
import { createRaceActions } from "../../src/nebula/web/race/actions.js";
import { reduce } from "../../src/nebula/web/state/reduce.js";
import { EMPTY } from "../../src/nebula/web/state/state.js";
import { topologyOf } from "../../src/nebula/web/state/topology.js";

const BEGUN = { trace_id: "r", trace_ids: ["a", "b"], models: ["m", "n"], prompt: "p" };
const started = reduce(EMPTY, { kind: "race_begun", begun: BEGUN });

function hear(state, ...all) {
  const events = all.map((data) => ({ name: data.type, data }));
  return reduce(state, { kind: "events", events, now: 0 });
}

test("a second press is the same race, before it is answered and before its lanes are drawn", async () => {
  const store = createStore(reduce, { ...EMPTY, status: "open" });
  const asked = [];
  const asking = { ask: async (action) => (asked.push(action), BEGUN), attempt: async (work) => (await work(), true) };
  const races = createRaceActions(store, asking, {}, {}, speaker);
  await Promise.all([races.start("p", { tries: 2 }, ""), races.start("p", { tries: 2 }, "")]);
  await races.start("p", { tries: 2 }, "");
  assert.deepEqual(asked, ["race"]);
});

test("each try has its line, and none becomes a turn of the conversation", () => {
  const state = hear(
    started,
    { type: "task", try: 1, trace_id: "a", seq: 1, model: "other", prompt: "p" },
    { type: "step", try: 1, trace_id: "a", seq: 2, name: "readFile", args: { path: "x" } },
    { type: "step", try: 1, trace_id: "a", seq: 3, name: "runCommand", args: { command: "ls" } },
    { type: "message", try: 2, trace_id: "b", seq: 1, text: "hm", usage: { input_tokens: 3, output_tokens: 4 } },
    { type: "message", try: 2, trace_id: "b", seq: 2, text: "", usage: {} },
    { type: "step", try: 9, trace_id: "elsewhere", seq: 2, name: "readFile" },
  );
  const lines = state.race.tries.map(({ model, did, said, rounds, tokens }) => [model, did, said, rounds, tokens]);
  assert.deepEqual(lines, [
    [
      "other",
      [
        { name: "readFile", about: "x" },
        { name: "runCommand", about: "ls" },
      ],
      "",
      0,
      0,
    ],
    ["n", [], "hm", 2, 7],
  ]);
  const say = speaker("en");
  const words = state.race.tries[0].did.map((each) => told(each, say));
  assert.deepEqual(words, ["Read x", "Run ls"], "in plain words");
  assert.equal(told(deedOf({ name: "issues__find", args: { query: "a\n b" } }), say), "issues__find a b");
  assert.equal(told(deedOf({ name: "todo" }), say), "Plan the steps");
  assert.equal(state.turns.size, 0);
  assert.equal(hear(EMPTY, { type: "task", try: 1, trace_id: "z", seq: 1, prompt: "p" }).turns.size, 0);
});

test("a try ends alone, the race with what became of all", () => {
  const one = hear(started, { type: "final", try: 2, trace_id: "b", seq: 3, status: "error", node_id: null });
  assert.deepEqual([one.race.tries.map((each) => each.status), one.race.isOver], [["", "error"], false]);
  const told = { try: 1, node_id: "a", status: "ok", verified: true, files_changed: [], cost: 0.5, duration_s: 2 };
  const over = hear(one, { type: "final", trace_id: "r", seq: 1, tries: [{ ...told, rounds: 3 }], opinion: "o" });
  const [first, second] = over.race.tries;
  assert.deepEqual([first.nodeId, first.status, first.verified, first.rounds], ["a", "ok", true, 3]);
  assert.deepEqual([second.status, over.race.isOver, over.race.opinion], ["error", true, "o"]);
  assert.equal(hear(started, { type: "notice", trace_id: "r", seq: 1, message: "m" }).race.remarks[0], "m");
});

test("what a try said and did stays where its end says nothing of it, and else is what the end says", () => {
  const at = hear(
    started,
    ...Array.from({ length: 40 }, (_, seq) => ({ type: "step", try: 1, trace_id: "a", seq, name: `step${seq}` })),
    { type: "message", try: 1, trace_id: "a", seq: 41, text: "so far", usage: {} },
  );
  assert.deepEqual([at.race.tries[0].did.length, at.race.tries[0].did.at(-1)?.name], [30, "step39"], "the newest");
  const end = { type: "final", try: 1, trace_id: "a", seq: 42, status: "ok" };
  const [silent] = hear(at, end).race.tries;
  assert.deepEqual([silent.said, silent.model, silent.rounds], ["so far", "m", 1]);
  assert.deepEqual(
    [silent.nodeId, silent.verified, silent.files, silent.cost, silent.seconds],
    [null, null, [], null, null],
  );
  const told = {
    text: "Done.",
    model: "k",
    node_id: "a",
    verified: false,
    files_changed: ["x"],
    cost: 0,
    duration_s: 2,
  };
  const [spoke] = hear(at, { ...end, ...told, rounds: 0 }).race.tries;
  assert.deepEqual([spoke.said, spoke.model, spoke.rounds], ["Done.", "k", 0]);
  assert.deepEqual([spoke.nodeId, spoke.verified, spoke.files, spoke.cost, spoke.seconds], ["a", false, ["x"], 0, 2]);
});

test("one try is stopped, or all", () => {
  const stop = (traceId) => reduce(started, { kind: "race_stopping", traceId }).race.tries.map((each) => each.stopping);
  assert.deepEqual(
    [stop("b"), stop("r")],
    [
      [false, true],
      [true, true],
    ],
  );
});

test("a race that goes on is found again, one that is gone is not, one that is over stays", () => {
  const hello = (state, races, resumed = false) =>
    reduce(state, { kind: "hello", modes: [], turns: [], races, resumed, now: 0 }).race;
  assert.equal(hello(EMPTY, [BEGUN]).tries.length, 2);
  assert.equal(hello(started, [BEGUN]), started.race);
  assert.equal(hello(started, []), null);
  assert.equal(hello(started, [], true), started.race);
  const over = hear(started, { type: "final", trace_id: "r", seq: 1, tries: [] });
  assert.equal(hello(over, []), over.race);
  assert.deepEqual(
    over.race.tries.map((each) => each.status),
    ["error", "error"],
  );
  assert.equal(reduce(started, { kind: "race_aside" }).race, started.race);
  assert.equal(reduce(over, { kind: "race_aside" }).race, null);
  const other = reduce({ ...over, tried: { ids: [], tries: [], files: [] } }, { kind: "choose_flow", flowId: "x" });
  assert.deepEqual([other.race, other.tried?.ids], [over.race, []]);
});

test("the tries at work stand side by side below what they continue, in their flow alone", () => {
  const begun = { ...BEGUN, parents: ["x"], flow_id: "main" };
  const state = reduce(EMPTY, { kind: "race_begun", begun });
  const shown = liveTurns(state).map(({ id, kind, number, parents }) => [id, kind, number, parents]);
  assert.deepEqual(shown, [
    ["a", "working", 1, ["x"]],
    ["b", "working", 2, ["x"]],
  ]);
  const order = (pieces) => [...withLive(new Rows(pieces), liveTurns(state))].map(({ id }) => id);
  assert.deepEqual(
    [order([single({ id: "x", kind: "start" })]), order([])],
    [
      ["x", "a", "b"],
      ["a", "b"],
    ],
  );
  const one = hear(state, { type: "final", try: 1, trace_id: "a", seq: 3, status: "ok", node_id: "a" });
  assert.deepEqual(
    liveTurns(one).map(({ id }) => id),
    ["b"],
  );
  assert.deepEqual(liveTurns({ ...state, flowId: "other", flow: { ...state.flow, id: "o", name: "other" } }), []);
  assert.deepEqual(liveTurns(hear(one, { type: "final", trace_id: "r", seq: 1, tries: [] })), []);
  assert.equal(reduce(state, { kind: "watch", traceId: "b" }).view.dialog, "race");
});

test("tries that follow the same turn stand beside each other, none below another as if it followed that", () => {
  const topology = topologyOf({ nodes: ["p"], connections: [] });
  const live = Array.from({ length: 8 }, (_, at) => ({
    id: `t${at}`,
    kind: "working",
    prompt: "",
    doing: "",
    parents: ["p"],
  }));
  const placed = placeLive(live, layoutOf(topology), topology);
  for (const one of placed)
    assert.ok(!placed.some((each) => each.x === one.x && each.row === one.row + 1), `${one.id} has one below it`);
  assert.equal(new Set(placed.map(({ x, row }) => `${x} ${row}`)).size, 8);
});
