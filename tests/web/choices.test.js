// What goes along with a prompt, several turns at once, figures, links and hunks; without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { attachedBefore, draft, keepAttached, keepDraft } from "../../src/nebula/web/app/preferences.js";
import {
  base64,
  fits,
  LARGEST_IMAGE,
  MOST_IMAGES,
  MOST_TEXT,
  read,
} from "../../src/nebula/web/composer/attachments.js";
import { editorLink, linkOfWord } from "../../src/nebula/web/lib/editor_link.js";
import { changedLines, changedWords, countsOf, differing, hunksOf, notesOf } from "../../src/nebula/web/lib/hunks.js";
import { againWith, answering, FRESH, namedModels } from "../../src/nebula/web/composer/composing.js";
import { columnsOf, namedDays } from "../../src/nebula/web/figures/days.js";
import { dollars, measures, roughly, short, sharesOf } from "../../src/nebula/web/figures/measures.js";
import { speaker } from "../../src/nebula/web/lib/words.js";
import { continuing } from "../../src/nebula/web/state/here.js";
import { reduce } from "../../src/nebula/web/state/reduce.js";
import { EMPTY } from "../../src/nebula/web/state/state.js";
import { partingOf, topologyOf } from "../../src/nebula/web/state/topology.js";
import { recentConversations } from "../../src/nebula/web/transcript/recent.js";
import { nameProposal } from "../../src/nebula/web/lib/deeds.js";

test("the conversations of late are those said in last, the tries of one prompt one of them", () => {
  const connections = [
    { source: "a", target: "c" },
    { source: "b", target: "f" },
  ];
  const tries = { e: "d" };
  const topology = topologyOf({ nodes: ["a", "b", "c", "d", "e", "f"], connections, tries });
  assert.deepEqual(recentConversations(topology, 5), [
    { first: "b", last: "f" },
    { first: "e", last: "e" },
    { first: "a", last: "c" },
  ]);
});

const after = (state, ...changes) => changes.reduce((now, [kind, details]) => reduce(now, { kind, ...details }), state);

test("a click chooses one turn, a click with Ctrl one more, and merging waits for the other", () => {
  const two = after(EMPTY, ["open", { id: "a", tab: "talk" }], ["toggle", { id: "b" }]);
  assert.deepEqual(continuing(two), ["a", "b"]);
  assert.deepEqual(continuing(after(two, ["toggle", { id: "a" }])), ["b"]);
  assert.deepEqual(continuing(after(two, ["open", { id: "c", tab: "talk" }])), ["c"]);
  const merging = after(
    EMPTY,
    ["open", { id: "a", tab: "talk" }],
    ["merge", { id: "a" }],
    ["open", { id: "b", tab: "talk" }],
  );
  assert.deepEqual(continuing(merging), ["b", "a"]);
  assert.deepEqual(continuing(after(merging, ["open", { id: "c", tab: "talk" }])), ["c"]);
});

test("what goes along is gone once it is sent, but the model stays", () => {
  const filled = after(
    EMPTY,
    ["model", { model: "m" }],
    ["refer", { id: "r" }],
    ["refer", { id: "r" }],
    ["leave_out", { id: "x" }],
    ["attach", { attached: { name: "n", size: 1, image: false, data: "d" } }],
  );
  assert.deepEqual([filled.composing.references, filled.composing.without], [["r"], ["x"]]);
  const sent = after(filled, ["sent", { traceId: "t", composing: filled.composing }]);
  assert.deepEqual(sent.composing, { ...FRESH, model: "m" });
  const retried = after(filled, ["sent", { traceId: "t", composing: FRESH }]);
  assert.equal(retried.composing, filled.composing);
  assert.deepEqual(
    after(filled, ["take_in", { id: "x" }], ["unrefer", { id: "r" }], ["detach", { place: 0 }]).composing,
    { ...FRESH, model: "m" },
  );
});

test("a first prompt that is edited belongs to the turn it came from until the reader goes elsewhere", () => {
  const edited = after(EMPTY, ["edit", { prompt: "p", again: "a" }]);
  assert.equal(edited.composing.again, "a");
  assert.equal(after(edited, ["select", { id: null }]).composing.again, "");
  assert.equal(after(edited, ["model", { model: "m" }]).composing.again, "a");
});

test("a turn asked again takes along what it had", () => {
  const body = { id: "a", attachments: [{ name: "dot.png", kind: "image", size: 3, text: "AAAA" }], references: ["r"] };
  assert.deepEqual(againWith({ ...FRESH, model: "m" }, body), {
    ...FRESH,
    model: "m",
    references: ["r"],
    attached: [{ name: "dot.png", size: 3, image: true, data: "AAAA" }],
    again: "a",
  });
});

test("attachments are counted together", () => {
  assert.equal(base64(new Uint8Array([255, 254])), "//4=");
  const text = (size) => ({ type: "text/plain", size });
  const image = (size) => ({ type: "image/png", size });
  const one = (image) => [{ name: "a", size: 1, image, data: "" }];
  assert.ok(fits([], text(MOST_TEXT)) && !fits(one(false), text(MOST_TEXT)) && fits(one(true), text(MOST_TEXT)));
  assert.ok(fits(one(false), image(LARGEST_IMAGE)) && !fits([], image(LARGEST_IMAGE + 1)));
  const many = [{ name: "a", size: MOST_IMAGES - LARGEST_IMAGE, image: true, data: "" }];
  assert.ok(fits(many, image(LARGEST_IMAGE)) && !fits([...many, ...one(true)], image(LARGEST_IMAGE)));
});

test("a path becomes an address of the editor only inside the project", () => {
  const project = { root: "/home/me/a b", editorUrl: "vscode://file{path}:{line}", model: "" };
  assert.equal(editorLink(project, "src/a#1.py", 7), "vscode://file/home/me/a%20b/src/a%231.py:7");
  assert.equal(linkOfWord(project, "src/app.py:12"), "vscode://file/home/me/a%20b/src/app.py:12");
  for (const word of ["../secret.py", "/etc/passwd", "app", "src/../../x.py", "javascript:alert(1)", "a b/c.py"])
    assert.equal(linkOfWord(project, word), null, word);
  assert.equal(editorLink({ ...project, editorUrl: "javascript:alert('{path}')" }, "a.py"), null);
  assert.equal(editorLink({ ...project, root: "" }, "a.py"), null);
});

test("hunks begin at their own lines, not at what a text says", () => {
  const diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+@@ no hunk\r@@ nor this\n@@ -9 +9 @@\n-b\n+c\n";
  assert.deepEqual(
    hunksOf(diff).map(({ old, now, lines }) => [old, now, lines.map(({ text }) => text)]),
    [
      [1, 1, ["a", "@@ no hunk\r@@ nor this"]],
      [9, 9, ["b", "c"]],
    ],
  );
});

test("what no hunk shows stands above them, and the name of a file is no line of the hunk before it", () => {
  assert.deepEqual(notesOf("mode 644 → 755\n"), ["mode 644 → 755"]);
  assert.deepEqual(notesOf("nothing → link to ../x\n"), ["nothing → link to ../x"]);
  const head = "--- a/a\n+++ b/a\n";
  assert.deepEqual(notesOf(`${head}@@ -1 +1 @@\n-a\n+b\n`), []);
  const parts = `a large text: both ends\n${head}@@ -1 +1 @@\n-a\n+b\n${head}@@ -9 +9 @@\n-c\n\\ No newline at end of file\n+d\n`;
  assert.deepEqual(notesOf(parts), ["a large text: both ends"]);
  assert.deepEqual(
    hunksOf(parts).map(({ lines }) => lines.map(({ kind, text }) => `${kind} ${text}`)),
    [
      ["removed a", "added b"],
      ["removed c", "note No newline at end of file", "added d"],
    ],
  );
});

test("a hunk knows where its lines are, what changed in them, and which words", () => {
  const diff = "@@ -3,4 +3,5 @@\n a\n-rate = 5\n+rate = 10\n+lock = 1\n b\n\\ No newline at end of file\n";
  const [hunk] = hunksOf(diff);
  assert.deepEqual(
    hunk.lines.map(({ kind, line }) => `${kind} ${line}`),
    ["same 3", "removed 4", "added 4", "added 5", "same 6", "note 0"],
  );
  assert.deepEqual(changedLines(hunk), { from: 4, to: 5 });
  assert.deepEqual(countsOf([hunk]), { added: 2, removed: 1 });
  const marks = changedWords(hunk.lines);
  assert.deepEqual([marks.get(hunk.lines[1]), marks.get(hunk.lines[2])], [[[7, 8]], [[7, 9]]]);
  assert.equal(differing("import time", "class Bucket:"), null, "another line is no changed one");
  assert.deepEqual(differing("a b c", "a x c"), [[[2, 3]], [[2, 3]]]);
});

test("two turns part at the last one they share", () => {
  const topology = topologyOf({
    nodes: ["a", "b", "c", "x", "r"],
    connections: [
      ["a", "b"],
      ["b", "c"],
      ["a", "x"],
    ].map(([source, target]) => ({ source, target })),
  });
  assert.deepEqual(partingOf(topology, "c", "x"), { common: "a", ways: [["b", "c"], ["x"]] });
  assert.deepEqual(partingOf(topology, "c", "b"), { common: "b", ways: [["c"], []] });
  assert.deepEqual(partingOf(topology, "c", "r").common, null);
});

test("figures have their units, and a dash where nothing was measured", () => {
  const found = { task_success_rate: 0.5, p95_latency_s: 1.26, policy_refusals: 0 };
  const shownIn = (lang) =>
    Object.fromEntries(measures(found, speaker(lang)).map(({ name, shown: text }) => [name, text]));
  const shown = shownIn("en");
  assert.equal(shownIn("ja").p95_latency_s, "1.3 秒");
  assert.deepEqual(
    [shown.task_success_rate, shown.p95_latency_s, shown.policy_refusals, shown.rename_accuracy],
    ["50%", "1.3 s", "0", null],
  );
  assert.deepEqual([dollars(0), dollars(0.0000541), dollars(1.239)], ["$0", "$0.000054", "$1.24"]);
  assert.deepEqual([roughly(0), roughly(0.0000541), roughly(1.239)], ["$0", "<$0.01", "$1.24"]);
  assert.deepEqual([short(12), short(1500), short(2_340_000)], ["12", "1.5k", "2.3M"]);
});

test("days stand in a row, those without any, too; what has no price is told", () => {
  const spent = (name, cost, unpriced = 0) => ({
    name,
    cost,
    tasks: 2,
    input_tokens: 10,
    output_tokens: 0,
    unpriced_tokens: unpriced,
  });
  const entries = [spent("2026-01-30", 1), spent("2026-02-01", 4), spent("2026-02-02", 0, 9)];
  const columns = columnsOf(entries, "cost", "2026-02-03", 0);
  assert.deepEqual(
    columns.map(({ day, share, isUnpriced }) => [day.slice(5), share, isUnpriced]),
    [
      ["01-28", 0, false],
      ["01-29", 0, false],
      ["01-30", 0.25, false],
      ["01-31", 0, false],
      ["02-01", 1, false],
      ["02-02", 0, true],
      ["02-03", 0, false],
    ],
  );
  assert.equal(columnsOf(entries, "tasks", "2026-02-03", 7).length, 7);
  assert.equal(columnsOf(entries, "tasks", "2026-02-03", 7)[5].value, 2);
  assert.equal(
    columnsOf([spent("2025-01-01", 1), ...entries], "cost", "2026-02-03", 0).length,
    60,
    "the last two months",
  );
  assert.deepEqual(columnsOf([], "cost", "2026-02-03", 7), []);
  assert.deepEqual(namedDays(columns, 2), [2, 6]);
});

test("names come by size, and the longest bar is whole", () => {
  const spent = (name, cost) => ({ name, cost, tasks: 1, input_tokens: 10, output_tokens: 0, unpriced_tokens: 0 });
  const entries = [spent("2026-01-01", 1), spent("2026-01-02", 4), spent("/home/me/app", 2)];
  assert.deepEqual(
    sharesOf(entries, "cost").map(({ label, share }) => [label, share]),
    [
      ["2026-01-02", 1],
      ["app", 0.5],
      ["2026-01-01", 0.25],
    ],
  );
});

test("the model that answers anyway is not listed twice, whoever has it", () => {
  const models = ["gemini/one", "openai/one", "ollama/two"];
  assert.deepEqual(namedModels(models, "gemini/one", ""), ["openai/one", "ollama/two"]);
  assert.deepEqual(namedModels(models, "", "ollama/two"), models);
  assert.deepEqual(namedModels([], "", "ollama/two"), ["ollama/two"], "before the server has said so");
});

test("the model that answers anyway is shown by its name, where the one of the settings cannot", () => {
  assert.equal(answering("one", ""), "one", "before the server has said so");
  assert.equal(answering("one", "gemini/one"), "one");
  assert.equal(answering("one", "gemini/two"), "gemini/two");
});

test("a folder is no file: why it cannot go along is said in our words", async () => {
  const folder = { name: "src", type: "", size: 4096, arrayBuffer: async () => Promise.reject(new Error("not found")) };
  await assert.rejects(read(folder), { message: "attach_unreadable" });
  await assert.rejects(read({ ...folder, type: "image/png" }), { message: "attach_unreadable" });
});

test("what is attached outlives a reload, and what is too large for that is named", () => {
  const kept = new Map();
  globalThis.sessionStorage = {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => kept.set(name, value),
    removeItem: (name) => kept.delete(name),
  };
  const file = (/** @type {string} */ name, /** @type {string} */ data) => ({ name, size: 1, image: false, data });
  const [one, large, two] = [file("one", "1"), file("large", "\u0000".repeat(1_000_000)), file("two", "2")];
  keepAttached([one, two, large]);
  assert.ok([...kept.values()].join("").length < 2_000_000, "a browser has room for it");
  assert.deepEqual(attachedBefore(), [one, two, "large"]);
  keepAttached([]);
  assert.deepEqual(attachedBefore(), []);
});

test("a draft that a browser has no room for is not kept, and nothing older in its place", () => {
  const kept = new Map();
  globalThis.sessionStorage = {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => {
      if (value.length > 5_000_000) throw new Error("the quota is exceeded");
      kept.set(name, value);
    },
    removeItem: (name) => kept.delete(name),
  };
  keepDraft("short");
  assert.equal(draft(), "short");
  keepDraft("x".repeat(6_000_000));
  assert.equal(draft(), "");
});

test("a question about a command that changes no file says so, and does not count them", () => {
  const say = speaker("en");
  const change = { path: "a", kind: "created", added: 1, removed: 0, diff: "" };
  assert.equal(nameProposal({ tool: "runCommand", changes: [change] }, say), "A command wants to change 1 file");
  assert.match(nameProposal({ tool: "runCommand", changes: [], once: true }, say), /more than change files$/);
  assert.match(nameProposal({ tool: "runCommand", changes: [] }, say), /changes no file that git tracks/);
  assert.match(nameProposal({ tool: "take", changes: [change, change] }, say), /^2 files change if you take this/);
});
