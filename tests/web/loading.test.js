// What is asked of the server, what comes back late, and what takes a change back: against a scripted server.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createStore } from "../../src/nebula/web/app/store.js";
import { createComposing } from "../../src/nebula/web/composer/actions.js";
import { createEdits } from "../../src/nebula/web/graph/edits.js";
import { AGAIN_MS, createSearching } from "../../src/nebula/web/outline/searching.js";
import { createAsking } from "../../src/nebula/web/server/asking.js";
import { createLoading } from "../../src/nebula/web/server/loading.js";
import { canSend, turnHere } from "../../src/nebula/web/state/here.js";
import { reduce } from "../../src/nebula/web/state/reduce.js";
import { EMPTY } from "../../src/nebula/web/state/state.js";

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A server whose answers the test gives, in the order it wants. */
function scripted(context) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.localStorage = { getItem: () => null, setItem() {} };
  globalThis.document = { documentElement: { lang: "en" } };
  const asked = [];
  const link = {
    ask: (action, data = {}) => new Promise((resolve, reject) => asked.push({ action, data, resolve, reject })),
  };
  const store = createStore(reduce, { ...EMPTY, status: "open" });
  const asking = createAsking(
    store,
    link,
    () =>
      (word, values = {}) =>
        [word, ...Object.values(values)].join(" "),
  );
  const last = (action) => asked.findLast((each) => each.action === action);
  const answer = async (question, data) => {
    question.resolve(data);
    await settled();
  };
  return { asked, store, asking, last, answer };
}

const FLOW = { flow_id: "f", name: "main", ids: ["a", "b"], pairs: [0, 1] };

test("what is heard while the flow is on its way makes the page ask again", async (context) => {
  const { store, asking, last, answer } = scripted(context);
  const loading = createLoading(store, asking);
  for (const heard of [false, true]) {
    const done = loading.refresh();
    if (heard) {
      const data = { node_id: "c", flow_id: "f", parents: [], node: { id: "c" } };
      store.change("events", { events: [{ name: "node_created", data }], now: 0 });
    }
    await answer(last("get_flow"), FLOW);
    await answer(last("first_nodes"), { nodes: [{ id: "a", title: "A" }] });
    await done;
    assert.equal(store.state.outdated, heard);
    assert.equal(store.state.flow.nodes.join(), "a,b");
    assert.deepEqual(store.state.flow.connections, [{ source: "a", target: "b", from: 0, to: 1 }]);
  }
  assert.equal(store.state.briefs.get("a")?.title, "A");
});

test("a prompt is not sent before it is known what it continues, or that nobody can say", async (context) => {
  for (const failure of [null, { code: "io_error", message: "no" }]) {
    const { store, asking, last, answer } = scripted(context);
    const loading = createLoading(store, asking);
    const done = loading.chooseFlow("f");
    assert.equal(canSend(store.state), false);
    if (failure) last("get_flow").reject(failure);
    else await answer(last("get_flow"), FLOW);
    await answer(last("first_nodes"), { nodes: [] });
    await done;
    assert.equal(canSend(store.state), true);
    context.mock.timers.reset();
  }
});

test("a flow that is heard of while the list is on its way stays in it", async (context) => {
  const { store, asking, last, answer } = scripted(context);
  store.change("flows", { flows: [{ id: "m", name: "main" }] });
  createLoading(store, asking).refresh();
  const older = last("list_flows");
  const data = { flow_id: "m", name: "main", node_count: 1 };
  store.change("events", { events: [{ name: "flow_updated", data }], now: 0 });
  await answer(older, { flows: [{ id: "s", name: "second" }] });
  assert.notEqual(last("list_flows"), older);
  await answer(last("list_flows"), {
    flows: [
      { id: "m", name: "main" },
      { id: "s", name: "second" },
    ],
  });
  assert.equal(store.state.flows.map((each) => each.name).join(), "main,second");
});

test("the answer for a flow that was left changes nothing", async (context) => {
  const { store, asking, asked, answer } = scripted(context);
  const loading = createLoading(store, asking);
  loading.refresh();
  const first = asked.find((each) => each.action === "get_flow");
  loading.chooseFlow("other");
  await answer(first, FLOW);
  assert.deepEqual([store.state.flowId, store.state.flow.nodes], ["other", []]);
});

test("a flow that is not there is empty, one that cannot be read says so", async (context) => {
  const { store, asking, last } = scripted(context);
  const loading = createLoading(store, asking);
  for (const [code, problem] of [
    ["not_found", undefined],
    ["bad_file", "broken"],
  ]) {
    const done = loading.refresh();
    last("get_flow").reject(Object.assign(new Error("broken"), { code }));
    await done;
    assert.deepEqual([store.state.flow.nodes.length, store.state.flow.problem], [0, problem]);
  }
});

test("titles and turns are asked for once while they are on their way", async (context) => {
  const { store, asking, asked, last, answer } = scripted(context);
  const loading = createLoading(store, asking);
  loading.briefs(["a", "b"]);
  loading.briefs(["b", "c"]);
  loading.bodies(["a", "a"]);
  assert.deepEqual(
    asked.map((each) => each.data.node_ids?.join() ?? each.data.node_id),
    ["a,b", "c", "a"],
  );
  await answer(last("get_node"), { id: "a", prompt: "p", response: "r", tags: [] });
  assert.equal(store.state.bodies.get("a")?.prompt, "p");
  loading.bodies(["a"]);
  assert.equal(asked.length, 3, "it is known");
  store.change("body", { node: { id: "a", prompt: "p", response: "r", tags: [], isOutdated: true } });
  loading.bodies(["a"]);
  assert.equal(asked.length, 4, "and has changed since");
});

test("a late answer does not take the place of a newer search", async (context) => {
  const { store, asking, asked, answer } = scripted(context);
  const { search } = createSearching(store, asking, () => {});
  search("old");
  search("new");
  const [old, newer] = asked;
  await answer(newer, { nodes: [{ id: "n" }], total: 1 });
  await answer(old, { nodes: [{ id: "o" }], total: 1 });
  assert.deepEqual([store.state.search.text, store.state.search.hits], ["new", ["n"]]);
  search("ended");
  search("", {});
  await answer(asked[2], { nodes: [{ id: "o" }], total: 1 });
  assert.equal(store.state.search.hits, null);
});

test("a search that is not whole yet says so, and completes itself", async (context) => {
  const { store, asking, asked, last, answer } = scripted(context);
  const { search } = createSearching(store, asking, () => {});
  search("x", { tag: "t", model: "" });
  assert.deepEqual(asked[0].data, { text: "x", tags: ["t"], brief: true, limit: 1000 });
  await answer(asked[0], { nodes: [{ id: "a" }], total: 1, unread: 49 });
  assert.deepEqual([store.state.search.total, store.state.search.unread], [1, 49]);
  context.mock.timers.tick(AGAIN_MS);
  assert.equal(asked.length, 2);
  await answer(last("search_nodes"), { nodes: [{ id: "a" }, { id: "b" }], total: 2 });
  assert.deepEqual([store.state.search.hits, store.state.search.unread], [["a", "b"], 0]);
  context.mock.timers.tick(10 * AGAIN_MS);
  assert.equal(asked.length, 2, "and then it is left alone");
  search("y", {});
  await answer(asked[2], { nodes: [], total: 0, unread: 5 });
  search("", {});
  context.mock.timers.tick(AGAIN_MS);
  assert.equal(asked.length, 3, "a search that was ended is not asked again");
});

test("steps through the hits go round", (context) => {
  const { store, asking } = scripted(context);
  const steps = [];
  const { stepHits } = createSearching(store, asking, (id) => steps.push(id));
  stepHits(1);
  store.change("search", { text: "x", hits: ["a", "b", "c"] });
  stepHits(1);
  stepHits(-1);
  store.change("select", { id: "c" });
  stepHits(1);
  stepHits(-1);
  assert.deepEqual(steps, ["a", "c", "a", "b"]);
});

test("several turns are deleted in one step and brought back in one", async (context) => {
  const { store, asking, asked, last, answer } = scripted(context);
  createEdits(store, asking).remove(["a", "b"]);
  await answer(asked[0], {});
  assert.deepEqual([asked[0].action, asked[0].data, asked.length], ["delete_nodes", { node_ids: ["a", "b"] }, 1]);
  const { offer, notice } = store.state;
  assert.equal(notice, "deleted");
  asking.takeUp(offer);
  await answer(last("undo"), { done: true });
  assert.deepEqual([store.state.notice, store.state.offer, asked.length], ["undone ", null, 2]);
});

test("what is said meanwhile leaves the way back where it is, until its time is over", async (context) => {
  const { store, asking, asked, last, answer } = scripted(context);
  createEdits(store, asking).remove(["a"]);
  await answer(asked[0], {});
  asking.tell("later");
  assert.deepEqual([store.state.notice, store.state.offer?.text], ["later", "deleted"]);
  context.mock.timers.tick(6000);
  assert.deepEqual([store.state.notice, store.state.offer?.text], ["", "deleted"]);
  asking.tell("last");
  asking.takeUp(store.state.offer);
  last("undo").reject(Object.assign(new Error("gone"), { code: "lost" }));
  await settled();
  assert.deepEqual([store.state.notice, store.state.offer?.text], ["last", "deleted"], "it was not taken back yet");
  context.mock.timers.tick(14_000);
  assert.deepEqual([store.state.notice, store.state.offer], ["", null]);
});

test("a turn that is gone is not called by its id, and a flow is not a turn", async (context) => {
  const { store, asking, asked } = scripted(context);
  const id = "0192f0c1-2345-7abc-8def-0123456789ab";
  const told = [`No node ${id}`, `Flow 'main' has no node ${id}`, `ノード${id}がありません`, `No flow '${id}'`];
  for (const message of told) {
    createEdits(store, asking).remove(["a"]);
    asked.at(-1).reject(Object.assign(new Error(message), { code: "not_found" }));
    await settled();
    assert.equal(store.state.notice, message.startsWith("No flow") ? `failed ${message}` : "turn_gone");
  }
});

test("a flow that was given another name keeps its turns in sight", async (context) => {
  const { store, asking, last, answer } = scripted(context);
  const loading = createLoading(store, asking);
  loading.refresh();
  assert.equal(last("get_flow").data.flow_id, "main");
  await answer(last("get_flow"), FLOW);
  await answer(last("first_nodes"), { nodes: [] });
  loading.refresh();
  assert.deepEqual([last("get_flow").data.flow_id, last("first_nodes").data.flow_id], ["f", "f"]);
  await answer(last("get_flow"), { ...FLOW, name: "other" });
  await answer(last("first_nodes"), { nodes: [] });
  assert.deepEqual([store.state.flow.name, store.state.flow.nodes.length], ["other", 2]);
  store.change("choose_flow", { flowId: "third" });
  loading.refresh();
  assert.equal(last("get_flow").data.flow_id, "third");
});

test("of a flow that was made it is told which, for another may have its name", async (context) => {
  const { store, asking, last, answer } = scripted(context);
  const made = createEdits(store, asking).createFlow("twice");
  await answer(last("create_flow"), { flow_id: "second" });
  assert.equal(await made, "second");
});

test("whatever is changed offers to take it back", async (context) => {
  const { store, asking, asked, answer } = scripted(context);
  const edits = createEdits(store, asking);
  edits.tag("a", ["x"]);
  edits.renameFlow("other");
  edits.createFlow("new");
  for (const question of asked) {
    await answer(question, {});
    assert.notEqual(store.state.offer, null, question.action);
    store.change("notice", { text: "" });
  }
});

test("what failed is said and offers nothing; a broken line says so itself", async (context) => {
  const { store, asking, asked } = scripted(context);
  const edits = createEdits(store, asking);
  const done = edits.remove(["a"]);
  asked[0].reject(Object.assign(new Error("why"), { code: "not_found" }));
  assert.equal(await done, false);
  assert.deepEqual([store.state.notice, store.state.offer], ["failed why", null]);
  store.change("notice", { text: "" });
  const lost = edits.undo();
  asked[1].reject(Object.assign(new Error("gone"), { code: "lost" }));
  assert.equal(await lost, false);
  assert.equal(store.state.notice, "");
});

test("a prompt stands there at once, and comes back if the server did not take it", async (context) => {
  const { store, asking, asked, answer } = scripted(context);
  const composing = createComposing(store, asking);
  const sent = composing.send("hello");
  assert.equal(store.state.sending?.prompt, "hello");
  await answer(asked[0], { trace_id: "t" });
  assert.equal(await sent, true);
  assert.deepEqual([turnHere(store.state)?.prompt, store.state.sending], ["hello", null]);
  const failed = composing.send("again", []);
  asked[1].reject(Object.assign(new Error("no"), { code: "bad_request" }));
  assert.equal(await failed, false);
  assert.equal(store.state.returned?.prompt, "again");
});

test("an answer that takes longer than a moment is awaited, however many there are", async (context) => {
  const { store, asking, last, answer } = scripted(context);
  const first = asking.ask("first");
  context.mock.timers.tick(299);
  await answer(last("first"), {});
  await first;
  context.mock.timers.tick(1000);
  assert.equal(store.state.awaiting, false);
  const slow = [asking.ask("one"), asking.attempt(() => asking.ask("two"))];
  context.mock.timers.tick(300);
  assert.equal(store.state.awaiting, true);
  store.change("choose_flow", { flowId: "other" });
  await answer(last("one"), {});
  assert.equal(store.state.awaiting, true);
  last("two").reject(Object.assign(new Error("refused"), { code: "bad_request" }));
  await Promise.all(slow);
  assert.equal(store.state.awaiting, false);
});
