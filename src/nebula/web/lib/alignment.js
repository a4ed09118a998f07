// Two lists of texts beside each other: which of one stands for which of the other, whatever was put in between.

import { wordsOf } from "./hunks.js";

/** @typedef {{ kind: string, text: string }} Block */
/** @typedef {{ left: number | null, right: number | null, alike: boolean }} Pair Places in both lists; `alike`: they say much the same. */

const ALIKE = 0.3; // of their words in common
const MOST_BLOCKS = 200;

/** @param {Block[]} left @param {Block[]} right @returns {Pair[]} */
export function aligned(left, right) {
  if (left.length > MOST_BLOCKS || right.length > MOST_BLOCKS) return byPlace(left, right);
  const [ours, theirs] = [left.map(counted), right.map(counted)];
  const alike = (/** @type {number} */ i, /** @type {number} */ j) =>
    left[i].kind === right[j].kind ? likeness(ours[i], theirs[j]) : 0;
  return joined(bestWay(left.length, right.length, alike));
}

/** @param {Block[]} left @param {Block[]} right @returns {Pair[]} */
function byPlace(left, right) {
  const place = (/** @type {Block[]} */ list, /** @type {number} */ at) => (at < list.length ? at : null);
  return Array.from({ length: Math.max(left.length, right.length) }, (_, at) => ({
    left: place(left, at),
    right: place(right, at),
    alike: false,
  }));
}

// The pairs in both orders that have most in common altogether; null for those that have no other.
/** @param {number} rows @param {number} columns @param {(i: number, j: number) => number} alike @returns {[number | null, number | null][]} */
function bestWay(rows, columns, alike) {
  const width = columns + 1;
  const best = new Float64Array((rows + 1) * width);
  const paired = new Float64Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--)
    for (let j = columns - 1; j >= 0; j--) {
      const found = alike(i, j);
      const at = i * width + j;
      paired[at] = found >= ALIKE ? found + best[at + width + 1] : -1;
      best[at] = Math.max(paired[at], best[at + width], best[at + 1]);
    }
  /** @type {[number | null, number | null][]} */
  const way = [];
  let [i, j] = [0, 0];
  while (i < rows && j < columns) {
    const at = i * width + j;
    if (paired[at] === best[at] && paired[at] >= 0) way.push([i++, j++]);
    else if (best[at + width] >= best[at + 1]) way.push([i++, null]);
    else way.push([null, j++]);
  }
  while (i < rows) way.push([i++, null]);
  while (j < columns) way.push([null, j++]);
  return way;
}

// What only one has and what only the other has in the same place stand beside each other.
/** @param {[number | null, number | null][]} way @returns {Pair[]} */
function joined(way) {
  /** @type {Pair[]} */
  const pairs = [];
  for (let at = 0; at < way.length;) {
    const [left, right] = way[at];
    if (left !== null && right !== null) {
      pairs.push({ left, right, alike: true });
      at++;
      continue;
    }
    let end = at;
    while (end < way.length && (way[end][0] === null || way[end][1] === null)) end++;
    const alone = way.slice(at, end);
    const ours = alone.flatMap(([each]) => each ?? []);
    const theirs = alone.flatMap(([, each]) => each ?? []);
    for (let place = 0; place < Math.max(ours.length, theirs.length); place++)
      pairs.push({ left: ours[place] ?? null, right: theirs[place] ?? null, alike: false });
    at = end;
  }
  return pairs;
}

/** @param {Block} block */
function counted({ text }) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  let total = 0;
  for (const word of wordsOf(text)) {
    if (!word.trim()) continue;
    counts.set(word, (counts.get(word) ?? 0) + 1);
    total++;
  }
  return { counts, total };
}

/** @param {ReturnType<typeof counted>} one @param {ReturnType<typeof counted>} other */
function likeness(one, other) {
  let shared = 0;
  for (const [word, count] of one.counts) shared += Math.min(count, other.counts.get(word) ?? 0);
  const total = one.total + other.total;
  return total ? (2 * shared) / total : 1;
}
