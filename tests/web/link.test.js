// The line to the server, against a scripted socket: what it says when it comes back, and what it does not say.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Link } from "../../src/nebula/web/server/link.js";

/** A browser's socket whose other end is the test. */
class Socket {
  static OPEN = 1;
  static all = [];
  readyState = 0;
  sent = [];

  constructor(url) {
    this.url = url;
    Socket.all.push(this);
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  open() {
    this.readyState = 1;
    this.onopen();
  }

  close(code = 1005) {
    this.readyState = 3;
    this.onclose({ code });
  }

  /** Answers the oldest question of that name. */
  async answer(action, data) {
    const asked = this.sent.find((each) => each.action === action && !each.answered);
    asked.answered = true;
    this.hear({ status: "success", data, id: asked.id });
    await settled();
  }

  hear(message) {
    this.onmessage({ data: JSON.stringify(message) });
  }

  asked(action) {
    return this.sent.find((each) => each.action === action)?.data;
  }
}

/** A look at the line is due every half second, each by the one before. */
function passed(context, seconds) {
  for (let half = 0; half < 2 * seconds; half++) context.mock.timers.tick(500);
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const PRESENT = { seq: 7, epoch: "one", turns: [], modes: ["agent"] };

function opened(context, token = "", first = null, held = false) {
  context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  globalThis.WebSocket = Socket;
  globalThis.addEventListener = () => {};
  globalThis.document = { documentElement: { lang: "ja" } };
  Socket.all = [];
  const heard = { statuses: [], events: [], ready: [] };
  const link = new Link(
    "ws://host/ws",
    () => token,
    {
      onstatus: (status) => heard.statuses.push(status),
      onevents: (events) => heard.events.push(events.map((each) => each.name)),
      onready: (hello, resumed) => heard.ready.push(resumed),
    },
    Promise.resolve(first),
    "this one",
  );
  if (!held) link.open();
  return { link, heard };
}

async function greeted(socket, present, resumed) {
  socket.open();
  await settled();
  await socket.answer("hello", present);
  await socket.answer("subscribe", { ...present, resumed });
}

test("it greets with token and language, and listens from the oldest turn under way", async (context) => {
  opened(context, "secret");
  const [socket] = Socket.all;
  await greeted(socket, { ...PRESENT, turns: [{ since: 3 }, { since: 5 }] }, true);
  assert.deepEqual(socket.asked("hello"), { token: "secret", lang: "ja", page: "this one" });
  assert.deepEqual(socket.asked("subscribe"), { since: 3, epoch: "one" });
});

test("after a break it asks for what came after the last event it heard", async (context) => {
  const { heard } = opened(context);
  const [first] = Socket.all;
  await greeted(first, PRESENT, false);
  first.hear({ event: "node_created", seq: 8, data: {} });
  first.hear({ event: "node_created", seq: 9, data: {} });
  first.close();
  assert.equal(heard.statuses.at(-1), "lost");
  context.mock.timers.tick(500);
  const second = Socket.all[1];
  await greeted(second, { ...PRESENT, seq: 12 }, true);
  assert.deepEqual(second.asked("subscribe"), { since: 9, epoch: "one" });
  assert.deepEqual(heard.ready, [false, true]);
});

test("another run of the server starts the count anew", async (context) => {
  const { heard } = opened(context);
  await greeted(Socket.all[0], PRESENT, false);
  Socket.all[0].hear({ event: "node_created", seq: 8, data: {} });
  Socket.all[0].close();
  context.mock.timers.tick(500);
  await greeted(Socket.all[1], { ...PRESENT, seq: 2, epoch: "two" }, false);
  assert.deepEqual(Socket.all[1].asked("subscribe"), { since: 8, epoch: "one" }, "the server sees that it was another");
  Socket.all[1].hear({ event: "resync_required", seq: 2, data: { seq: 2, epoch: "two" } });
  Socket.all[1].close();
  context.mock.timers.tick(500);
  await greeted(Socket.all[2], { ...PRESENT, seq: 3, epoch: "two" }, true);
  assert.deepEqual(Socket.all[2].asked("subscribe"), { since: 2, epoch: "two" });
  assert.deepEqual(heard.ready, [false, false, true]);
});

test("a question whose line broke fails, and is not asked again by itself", async (context) => {
  const { link } = opened(context);
  await greeted(Socket.all[0], PRESENT, false);
  const asking = link.ask("send_prompt", { prompt: "once" });
  Socket.all[0].close();
  await assert.rejects(asking, { code: "lost" });
  await assert.rejects(link.ask("send_prompt"), { code: "lost" });
  context.mock.timers.tick(500);
  await greeted(Socket.all[1], PRESENT, true);
  assert.deepEqual(
    Socket.all[1].sent.map((each) => each.action),
    ["hello", "subscribe"],
  );
});

test("a new token is used at once, and the old line says nothing more", async (context) => {
  const { link, heard } = opened(context, "old");
  Socket.all[0].open();
  await settled();
  Socket.all[0].close(1008);
  assert.equal(heard.statuses.at(-1), "refused");
  link.useToken("new");
  await greeted(Socket.all[1], PRESENT, false);
  assert.equal(Socket.all[1].asked("hello").token, "new");
  assert.equal(heard.statuses.at(-1), "open");
  link.useToken("newer");
  assert.equal(Socket.all.length, 3);
  Socket.all[1].hear({ event: "node_created", seq: 8, data: {} });
  assert.deepEqual(heard.events, []);
});

test("a server that says nothing is asked whether it is there, again and again", async (context) => {
  const { heard } = opened(context);
  const [socket] = Socket.all;
  await greeted(socket, PRESENT, false);
  const asked = () => socket.sent.filter((each) => each.action === "ping").length;
  passed(context, 1);
  assert.equal(asked(), 0, "it has just been heard");
  for (const round of [1, 2, 3]) {
    passed(context, 2);
    assert.equal(asked(), round);
    socket.hear({ status: "success", data: {} });
  }
  assert.deepEqual([heard.statuses, Socket.all.length], [["open"], 1]);
});

test("one that does not answer is given up within five seconds of its last word, and sought again", async (context) => {
  const { heard } = opened(context);
  await greeted(Socket.all[0], PRESENT, false);
  passed(context, 5);
  assert.deepEqual(heard.statuses, ["open", "lost"]);
  passed(context, 0.5);
  await greeted(Socket.all[1], PRESENT, true);
  assert.deepEqual([heard.statuses.at(-1), heard.ready], ["open", [false, true]]);
});

const FIRST = { hello: PRESENT, answers: [[{ action: "get_flow", data: { flow_id: "main" } }, { ids: ["a"] }]] };

test("what came with the first look is there before the line, and what is asked then leaves with its opening", async (context) => {
  const { link, heard } = opened(context, "secret", FIRST);
  await settled();
  assert.deepEqual([heard.statuses, heard.ready], [["open"], [false]]);
  assert.deepEqual(await link.ask("get_flow", { flow_id: "main" }), { ids: ["a"] });
  const again = link.ask("get_flow", { flow_id: "main" });
  const [socket] = Socket.all;
  assert.deepEqual(socket.sent, []);
  socket.open();
  assert.deepEqual(
    socket.sent.map((each) => each.action),
    ["hello", "get_flow"],
    "the token first; the answer of the first look is given once",
  );
  await socket.answer("get_flow", { ids: ["a", "b"] });
  assert.deepEqual(await again, { ids: ["a", "b"] });
});

test("with a first look the line can wait, and what is asked waits with it", async (context) => {
  const { link, heard } = opened(context, "", FIRST, true);
  await settled();
  const asked = link.ask("list_flows");
  assert.deepEqual([heard.statuses, heard.ready, Socket.all.length], [["open"], [false], 0]);
  link.open();
  link.open();
  const [socket] = Socket.all;
  await greeted(socket, PRESENT, true);
  await socket.answer("list_flows", { flows: [] });
  assert.deepEqual([await asked, Socket.all.length], [{ flows: [] }, 1]);
});

test("without a first look nothing is asked before the line is open", async (context) => {
  const { link, heard } = opened(context, "", null, true);
  await settled();
  await assert.rejects(link.ask("list_flows"), { code: "lost" });
  assert.deepEqual(heard.statuses, []);
});

test("events are heard from the first look on, whatever happened until the line stood", async (context) => {
  const { heard } = opened(context, "", FIRST);
  await settled();
  await greeted(Socket.all[0], { ...PRESENT, seq: 12 }, true);
  assert.deepEqual(Socket.all[0].asked("subscribe"), { since: 7, epoch: "one" });
  assert.deepEqual(heard.ready, [false, true]);
});

test("a line that is there before the first look waits for it", async (context) => {
  let look;
  const { heard } = opened(context, "", new Promise((resolve) => (look = resolve)));
  const [socket] = Socket.all;
  socket.open();
  await socket.answer("hello", { ...PRESENT, seq: 12 });
  assert.deepEqual([heard.statuses, heard.ready, socket.asked("subscribe")], [["open"], [], undefined]);
  look(FIRST);
  await settled();
  await socket.answer("subscribe", { ...PRESENT, resumed: true });
  assert.deepEqual([socket.asked("subscribe").since, heard.ready], [7, [false, true]]);
});

test("a line that is lost while the first look is awaited says nothing more, and the next one begins anew", async (context) => {
  let look;
  const { heard } = opened(context, "", new Promise((resolve) => (look = resolve)));
  const [socket] = Socket.all;
  socket.open();
  await socket.answer("hello", PRESENT);
  socket.close();
  look(FIRST);
  await settled();
  assert.deepEqual(heard.statuses, ["open", "lost"], "what can be shown is, and the line stays lost");
  assert.deepEqual([heard.ready, socket.asked("subscribe")], [[false], undefined]);
  context.mock.timers.tick(500);
  await greeted(Socket.all[1], PRESENT, true);
  assert.deepEqual([heard.statuses.at(-1), heard.ready], ["open", [false, true]]);
});

test("what came with the first look, or waits for the line, is not kept over a break", async (context) => {
  const { link } = opened(context, "", FIRST);
  await settled();
  const asked = link.ask("send_prompt", { prompt: "once" });
  Socket.all[0].close();
  await assert.rejects(asked, { code: "lost" });
  await assert.rejects(link.ask("get_flow", { flow_id: "main" }), { code: "lost" });
  context.mock.timers.tick(500);
  await greeted(Socket.all[1], PRESENT, true);
  assert.deepEqual(
    Socket.all[1].sent.map((each) => each.action),
    ["hello", "subscribe"],
  );
});

test("events that come thick and fast are told together, and before an answer that came after them", async (context) => {
  const { link, heard } = opened(context);
  const [socket] = Socket.all;
  await greeted(socket, PRESENT, false);
  for (const seq of [8, 9, 10]) socket.hear({ event: `e${seq}`, seq, data: {} });
  assert.deepEqual(heard.events, [["e8"]], "the first at once");
  context.mock.timers.tick(16);
  assert.deepEqual(heard.events, [["e8"], ["e9", "e10"]]);
  socket.hear({ event: "e11", seq: 11, data: {} });
  const answer = link.ask("get_flow").then(() => heard.events.push(["answered"]));
  await socket.answer("get_flow", {});
  await answer;
  assert.deepEqual(heard.events.slice(2), [["e11"], ["answered"]]);
  socket.hear({ event: "e12", seq: 12, data: {} });
  socket.close();
  assert.deepEqual(heard.events.at(-1), ["e12"], "what was heard before the line broke is told");
});
