// Blocks of two answers beside each other, and the words in which they differ, without a page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { aligned } from "../../src/nebula/web/lib/alignment.js";
import { differing, wordsOf } from "../../src/nebula/web/lib/hunks.js";

const blocks = (...texts) => texts.map((text) => ({ kind: text.startsWith("#") ? "heading" : "P", text }));
const places = (left, right) => aligned(left, right).map((pair) => [pair.left, pair.right, pair.alike]);

test("what says much the same stands beside each other, whatever was put in between", () => {
  const one = blocks("# Plan", "The parser reads all lines at once.", "Then it is done.");
  const other = blocks(
    "# Plan",
    "First a word on memory use.",
    "The parser reads one line at once.",
    "Then it is done.",
  );
  assert.deepEqual(places(one, other), [
    [0, 0, true],
    [null, 1, false],
    [1, 2, true],
    [2, 3, true],
  ]);
});

test("what has nothing in common stands beside each other without being held against each other", () => {
  assert.deepEqual(places(blocks("alpha beta", "same end"), blocks("gamma delta", "epsilon zeta", "same end")), [
    [0, 0, false],
    [null, 1, false],
    [1, 2, true],
  ]);
  assert.deepEqual(places(blocks("# same words"), [{ kind: "P", text: "# same words" }]), [[0, 0, false]]);
  assert.deepEqual(places([], blocks("x")), [[null, 0, false]]);
});

test("order is kept: two blocks that changed places are not both paired", () => {
  const pairs = places(blocks("one two three", "four five six"), blocks("four five six", "one two three"));
  assert.equal(pairs.filter(([, , alike]) => alike).length, 1);
});

test("very many blocks are paired by their place", () => {
  const many = Array.from({ length: 300 }, (_, at) => ({ kind: "P", text: `line ${at}` }));
  assert.equal(aligned(many, many.slice(1)).length, 300);
});

test("Japanese differs by its signs, not by whole sentences", () => {
  assert.deepEqual(wordsOf("行を3つ読む parse"), ["行", "を", "3", "つ", "読", "む", " ", "parse"]);
  assert.deepEqual(differing("全部の行を一度に読む", "全部の行を順番に読む"), [[[5, 7]], [[5, 7]]]);
});
