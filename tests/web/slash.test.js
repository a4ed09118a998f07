// Which commands are offered while one is typed, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isTypedCommand, offeredFor, pathTyped } from "../../src/nebula/web/composer/typed.js";

const named = (...names) => names.map((name) => ({ name, about: "", usage: "", owner: "user" }));
const offered = (text, ...names) => offeredFor(named(...names), text).map(({ name }) => name);

test("those that begin so stand first, and no more than eight", () => {
  assert.deepEqual(offered("/", "b", "a"), ["b", "a"]);
  assert.deepEqual(offered("/Re", "core", "review", "ship"), ["review", "core"]);
  assert.equal(offered("/", ..."abcdefghijk").length, 8);
});

test("nothing is offered once something follows, nor in the middle of a text", () => {
  assert.deepEqual(offered("/fix ", "fix"), []);
  assert.deepEqual(offered("see /fix", "fix"), []);
  assert.deepEqual(offered("/fix\n", "fix"), []);
});

test("a slash and a word may be a command, a slash alone or with a space in front is text", () => {
  assert.deepEqual(["/fix it", "/?", "/", "/ x", " /fix"].map(isTypedCommand), [true, true, false, false, false]);
});

test("a path is typed after an @ that begins a word, up to where one writes", () => {
  const typed = (text) => pathTyped(text.replace("|", ""), text.indexOf("|"));
  assert.equal(typed("read @src/li|"), "src/li");
  assert.equal(typed("@a| and more"), "a");
  assert.deepEqual(["@|", "me@home|", "@done |", "see @a b|"].map(typed), [null, null, null, null]);
});
