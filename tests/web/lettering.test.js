// Words in the graph: wrapped between them, and cut where there is no room.

import assert from "node:assert/strict";
import { test } from "node:test";

import { wrapped } from "../../src/nebula/web/graph/picture/lettering.js";

const pen = { measureText: (/** @type {string} */ text) => ({ width: text.length * 6 }) };
const lines = (/** @type {string} */ text, most = 2) => wrapped(/** @type {any} */ (pen), text, 84, most); // 14 letters

test("a word that has room on the next line is not parted", () => {
  assert.deepEqual(lines("Which algorithms are there?"), ["Which", "algorithms ar…"]);
  assert.deepEqual(lines("More about step 1: containers"), ["More about", "step 1: conta…"]);
});

test("Japanese is parted where a phrase ends, if that leaves the line well filled", () => {
  assert.deepEqual(lines("クライアントごとの要求をどう制限すればよいですか", 3)[0], "クライアントごとの要求をどう");
  assert.deepEqual(lines("どちらがテストしやすく、本番で一年使うか", 3)[0], "どちらがテストしやすく、");
  assert.deepEqual(lines("ワーカーが二つあると、割り当ても二倍", 3)[0], "ワーカーが二つあると、");
  assert.deepEqual(lines("Retry-After の拒否ヘッダー", 3), ["Retry-After の", "拒否ヘッダー"]);
  assert.deepEqual(lines("Retry-After ヘッダー", 3), ["Retry-After", "ヘッダー"]);
  assert.deepEqual(lines("どちらを残せばよいのでしょうか？"), ["どちらを残せばよいのでしょう", "か？"]);
  assert.deepEqual(lines("残せばよいのはどれでしょうか？"), ["残せばよいのはどれでしょう", "か？"]);
  assert.deepEqual(lines("上限トークンバケットクライアント制限", 3)[0], "上限トークンバケットクライア");
});

test("a word longer than a line is parted, and Japanese anywhere", () => {
  assert.deepEqual(lines("antidisestablishmentarianism", 3), ["antidisestabli", "shmentarianism"]);
  assert.deepEqual(lines("CI が遅いのはなぜですか、教えて"), ["CI が遅いのはなぜですか、", "教えて"]);
});
