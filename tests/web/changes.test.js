// Every change changes what it names and keeps the rest.

import assert from "node:assert/strict";
import { test } from "node:test";

import { reduce } from "../../src/nebula/web/state/reduce.js";
import { createSelectors, different, remembered } from "../../src/nebula/web/state/selectors.js";
import { EMPTY } from "../../src/nebula/web/state/state.js";
import { neighbour, nextFork, partingOf, topologyOf } from "../../src/nebula/web/state/topology.js";
import { begin, perform } from "../../src/nebula/web/state/turn.js";
import { rowsOf } from "./rows.js";

const FLOW = { id: "main", name: "main", nodes: ["a", "b", "c"], connections: [], base: {} };
const TURN = begin({ trace_id: "t", flow_id: "main", prompt: "p", parents: ["a"] }, 0);
const FULL = {
  ...EMPTY,
  modes: ["agent"],
  flow: FLOW,
  selected: "b",
  merging: ["c"],
  placed: true,
  turns: new Map([["t", TURN]]),
  search: { text: "x", filters: {}, hits: ["a"], total: 1, unread: 0 },
};

const CHANGES = [
  ["status", { status: "lost" }, "status"],
  ["notice", { text: "n" }, "notice"],
  ["hello", { modes: ["plan"], turns: [], resumed: true, now: 0 }, "modes"],
  ["flows", { flows: [] }, "flows"],
  ["briefs", { nodes: [{ id: "a" }] }, "briefs"],
  ["body", { node: { id: "a" } }, "bodies"],
  ["fold", { id: "a", folded: true }, "folded"],
  ["search", { text: "y", hits: [] }, "search"],
  ["choices", { choices: {} }, "choices"],
  ["models", { models: ["m"], current: "m" }, "models current"],
  ["files", { files: {} }, "files"],
  ["commands", { commands: [{}] }, "commands"],
  ["alive", { nodeId: "a", files: ["x"] }, "alive"],
  ["lines", { lines: {} }, "lines"],
  ["found", { found: {} }, "found"],
  ["counted", { counted: {} }, "counted"],
  ["outside", { outside: {} }, "outside"],
  ["racing", { racing: {} }, "racing"],
  ["tried", { tried: {} }, "tried"],
  ["race_begun", { begun: { trace_id: "r", trace_ids: ["a"], models: ["m"], prompt: "p" } }, "race"],
  ["compared", { compared: {} }, "compared"],
  ["figures", { figures: {} }, "figures"],
  ["sending", { prompt: "p", from: [] }, "sending"],
  ["unsent", { prompt: "p" }, "returned"],
  ["steered", { steeringId: "s" }, "steered"],
  ["edit", { prompt: "p" }, "returned"],
  ["stopping", { traceId: "t" }, "turns"],
  ["outdated", {}, "outdated"],
  ["building", { building: { done: 0, total: 1 } }, "building"],
  ["preview", { preview: {} }, "preview"],
  ["view", { to: { tab: "graph" } }, "view"],
  ["refer", { id: "a" }, "composing"],
  ["unmerge", { id: "c" }, "merging"],
  ["merge", { id: "a" }, "merging joining"],
  ["select", { id: "a" }, "selected"],
  ["select", { id: null }, "selected merging"],
  ["select", { id: "b", tab: "graph" }, "view"],
  ["open", { id: "a", tab: "talk" }, "selected merging turn"],
  ["watch", { traceId: "t" }, "selected merging turn"],
];

for (const [kind, details, named] of CHANGES)
  test(`${kind} changes ${named} and nothing else: ${JSON.stringify(details)}`, () => {
    const next = reduce(FULL, { kind, ...details });
    const changed = Object.keys(FULL).filter((key) => !Object.is(next[key], FULL[key]));
    const differs = changed.filter(
      (key) => JSON.stringify(next[key]) !== JSON.stringify(FULL[key]) || Object(next[key]) !== FULL[key],
    );
    const allowed = named.split(" ");
    assert.deepEqual(Object.keys(next).sort(), Object.keys(FULL).sort());
    assert.deepEqual(
      differs.filter((key) => !allowed.includes(key) && JSON.stringify(next[key]) !== JSON.stringify(FULL[key])),
      [],
    );
    assert.ok(
      allowed.every((key) => changed.includes(key)),
      `${changed}`,
    );
  });

test("a race that is over is put aside, one under way stays, and a try of it is watched where the race is", () => {
  const begun = { trace_id: "r", trace_ids: ["x"], models: ["m"], prompt: "p" };
  const racing = reduce(FULL, { kind: "race_begun", begun });
  assert.equal(reduce(racing, { kind: "race_aside" }), racing);
  const over = { ...racing, race: { ...racing.race, isOver: true } };
  assert.deepEqual(reduce(over, { kind: "race_aside" }), { ...over, race: null });
  assert.deepEqual(reduce(racing, { kind: "watch", traceId: "x" }), {
    ...racing,
    view: { ...racing.view, dialog: "race" },
  });
});

test("a change of the view keeps the rest of the view", () => {
  const next = reduce(FULL, { kind: "view", to: { tab: "graph" } });
  assert.deepEqual(next.view, { ...FULL.view, tab: "graph" });
  assert.deepEqual(reduce(FULL, { kind: "select", id: "a", tab: "graph" }).view, { ...FULL.view, tab: "graph" });
  const moved = { ...FULL, view: { ...FULL.view, viewport: { x: 1, y: 1, scale: 1 }, lang: "ja" } };
  const other = reduce(moved, { kind: "choose_flow", flowId: "side" });
  assert.deepEqual(other.view, { ...moved.view, viewport: null });
  const gone = ["flow", "selected", "merging", "search", "placed", "flowId", "view"];
  for (const key of Object.keys(FULL)) if (!gone.includes(key)) assert.equal(other[key], moved[key], key);
  assert.deepEqual([other.flowId, other.flow, other.selected, other.placed], ["side", EMPTY.flow, null, false]);
});

test("a flow that lost chosen turns keeps the others chosen", () => {
  const load = (nodes, place) => reduce(FULL, { kind: "flow", flow: { ...FLOW, nodes }, place });
  assert.deepEqual([load(["a", "b"]).selected, load(["a", "b"]).merging], ["b", []]);
  assert.deepEqual([load(["a", "c"]).selected, load(["a", "c"]).merging], [null, ["c"]]);
  assert.deepEqual([load(["a", "b", "c"], "a").selected, load(["a", "b", "c"], "none").selected], ["a", null]);
  assert.equal(load(["a", "b", "c"]).selected, "b");
});

test("results are kept while their inputs are, and a difference is seen once", () => {
  let runs = 0;
  const work = remembered((one, other) => [++runs, one, other]);
  assert.equal(work(1, 2), work(1, 2));
  assert.notEqual(work(1, 2), work(1, 3));
  assert.equal(runs, 2);
  const changed = different();
  assert.deepEqual(
    [changed(1, 2), changed(1, 2), changed(1, 3), changed(1), changed(1)],
    [true, false, true, true, false],
  );
});

test("a layout with folded runs is its own, and the plain one comes back", () => {
  const nodes = ["a", "b", "c", "d", "e", "f"];
  const connections = nodes.slice(1).map((target, place) => ({ source: nodes[place], target }));
  let state = reduce(EMPTY, { kind: "flow", flow: { ...FLOW, nodes, connections } });
  const selectors = createSelectors();
  assert.deepEqual(selectors.layout(state).row, [0, 1, 2, 3, 4, 5]);
  state = reduce(state, { kind: "view", to: { folding: true } });
  assert.ok(selectors.layout(state).runs.size > 0);
  state = reduce(state, { kind: "view", to: { folding: false } });
  assert.deepEqual([selectors.layout(state).runs.size, selectors.layout(state).row.at(-1)], [0, 5]);
});

/** Numbers that look random and are the same each time. */
function* numbers(seed) {
  for (let state = seed; ;) yield (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
}

test("parents stand before children in any order of the flow, and a flow that grew is as one made anew", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = numbers(seed);
    const next = (count) => Math.floor(random.next().value * count);
    const ids = Array.from({ length: 12 }, (_, number) => `n${number}`);
    const connections = [];
    for (let number = 1; number < ids.length; number++)
      for (let times = next(3); times > 0; times--)
        connections.push({ source: ids[next(number)], target: ids[number] });
    const nodes = [...ids].sort(() => random.next().value - 0.5);
    const topology = topologyOf({ nodes, connections });
    const at = topology.ids.map((_, place) => topology.order.indexOf(place));
    assert.deepEqual(
      [...topology.order].sort((one, other) => one - other),
      ids.map((_, place) => place),
    );
    for (const [place, above] of topology.parents.entries())
      for (const parent of above) assert.ok(at[parent] < at[place]);
    assert.deepEqual(
      rowsOf(topology)
        .map((row) => row.id)
        .sort(),
      [...ids].sort(),
    );
  }
});

test("roots stand beside roots, branches are counted, and ways part where they part", () => {
  const edges = ["ab", "bc", "bd", "be", "xy"].map(([source, target]) => ({ source, target }));
  const topology = topologyOf({ nodes: ["a", "b", "c", "d", "e", "x", "y"], connections: edges });
  assert.deepEqual(
    [neighbour(topology, "a", "right"), neighbour(topology, "x", "left"), neighbour(topology, "x", "right")],
    ["x", "a", null],
  );
  assert.deepEqual([neighbour(topology, "none", "up"), neighbour(topology, "c", "down")], [null, null]);
  const rows = Object.fromEntries(rowsOf(topology).map((row) => [row.id, row]));
  assert.deepEqual(
    [rows.b.branches, rows.c.branches, rows.a.holds, rows.b.holds, rows.d.holds, rows.x.holds],
    [2, 0, true, false, false, true],
  );
  assert.deepEqual([rows.a.folded, rows.d.from, rows.a.from], [false, "b", null]);
  assert.equal(nextFork(topology, "e", "up"), "b");
  assert.equal(nextFork(topology, "y", "up"), null);
  assert.deepEqual(partingOf(topology, "c", "d"), { common: "b", ways: [["c"], ["d"]] });
  assert.deepEqual(partingOf(topology, "b", "d"), { common: "b", ways: [[], ["d"]] });
  assert.deepEqual(partingOf(topology, "c", "y"), {
    common: null,
    ways: [
      ["a", "b", "c"],
      ["x", "y"],
    ],
  });
});

test("a task says what its turn is, a cue what is shown, and only the tool that asked ends its question", () => {
  const step = (turn, data) => perform(turn, { trace_id: "t", seq: turn.seq + 1, type: "x", ...data }, 7);
  let turn = step(begin({ trace_id: "t" }, 3), { type: "task", prompt: "p", parents: ["a"], flow_id: "f" });
  assert.deepEqual([turn.prompt, turn.parents, turn.flowId, turn.curtainSince], ["p", ["a"], "f", 3]);
  turn = step(turn, { type: "task" });
  assert.deepEqual([turn.prompt, turn.parents, turn.flowId], ["p", ["a"], "f"]);
  turn = step(turn, { stage: [{ cue: "curtain", doing: "one" }] });
  turn = step(turn, {
    stage: [
      { cue: "curtain", doing: "two" },
      { cue: "remark", text: "r" },
    ],
  });
  assert.deepEqual([turn.doing, turn.curtainSince, turn.remarks, turn.curtain], ["two", 7, ["r"], true]);
  const same = { type: "activity", seq: turn.seq, stage: [{ cue: "curtain", doing: "two", amount: "9 words" }] };
  turn = perform({ ...turn, curtainSince: 5 }, same, 9);
  assert.deepEqual([turn.doing, turn.amount, turn.curtainSince], ["two", "9 words", 5]);
  turn = perform(turn, { ...same, stage: [{ cue: "curtain", doing: "three" }] }, 9);
  assert.deepEqual([turn.doing, turn.amount, turn.curtainSince], ["three", "", 9]);
  turn = step(turn, { stage: [{ cue: "ask", approval_id: "q", tool_use_id: "c" }] });
  turn = step(turn, { type: "tool_result", tool_use_id: "other" });
  assert.equal(turn.ask?.approval_id, "q");
  assert.equal(step(turn, { type: "tool_result", tool_use_id: "c" }).ask, null);
  turn = step(turn, { type: "steering", text: "said" });
  assert.deepEqual([turn.said, turn.waiting], [[{ text: "said", act: 0 }], []]);
  turn = step(turn, { stage: [{ cue: "say", show: "s" }, { cue: "unknown" }] });
  assert.deepEqual([turn.said.at(-1), turn.ask, turn.curtain], [{ text: "s", act: 2 }, null, false]);
  const many = Array.from({ length: 600 }, (_, number) => ({ cue: "backstage", title: `${number}` }));
  turn = step(turn, { stage: many });
  assert.deepEqual([turn.backstage.length, turn.backstage[0]], [500, { title: "100", text: "" }]);
  turn = step(turn, { type: "final", stage: [{ cue: "close" }] });
  assert.deepEqual([turn.status, turn.line, turn.nodeId], ["ok", "", null]);
  const waiting = [{ steering_id: "s", text: "w" }];
  assert.deepEqual(begin({ trace_id: "t", flow_id: "f", prompt: "p", parents: ["x"], waiting }, 0).waiting, waiting);
});
