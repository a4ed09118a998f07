// Two answers block by block beside each other, the words in which they differ marked.
//
//   const pairs = await sideBySide(one, other, labels);   // [{ left, right, alike }], elements or null

import { aligned } from "../lib/alignment.js";
import { element } from "../lib/dom.js";
import { differing } from "../lib/hunks.js";
import { blocksOf } from "../lib/markdown.js";

/** @import { Span } from "../lib/hunks.js" */
/** @import { Labels } from "../lib/markdown.js" */
/** @typedef {{ text: string, runs: { node: Text, start: number }[] }} Runs */
/** @typedef {{ left: HTMLElement | null, right: HTMLElement | null, alike: boolean }} BlockPair */

const APART = "td, th, li, p, pre";
const LIMITS = { most: 2000, alike: 0.2 }; // words of a block; beyond that only where it stands is told

/** @param {string} one @param {string} other @param {Labels} labels @returns {Promise<BlockPair[]>} */
export async function sideBySide(one, other, labels) {
  const [left, right] = await Promise.all([blocksOf(one, labels), blocksOf(other, labels)]);
  const said = (/** @type {HTMLElement} */ block) => ({ kind: kindOf(block), text: runsOf(block).text });
  return aligned(left.map(said), right.map(said)).map((pair) => {
    const blocks = {
      left: pair.left === null ? null : left[pair.left],
      right: pair.right === null ? null : right[pair.right],
    };
    const alike = pair.alike && blocks.left !== null && blocks.right !== null && markBoth(blocks.left, blocks.right);
    return { ...blocks, alike };
  });
}

// Two short texts, such as prompts, in the same way.
/** @param {string} one @param {string} other @returns {[HTMLElement, HTMLElement]} */
export function markedTexts(one, other) {
  const [left, right] = [element("div", {}, one), element("div", {}, other)];
  markBoth(left, right);
  return [left, right];
}

// False where nothing tells in which words they differ: then they stand apart.
/** @param {HTMLElement} left @param {HTMLElement} right */
function markBoth(left, right) {
  const [ours, theirs] = [runsOf(left), runsOf(right)];
  if (ours.text === theirs.text) return true;
  const spans = differing(ours.text, theirs.text, LIMITS);
  if (!spans) return false;
  mark(ours, spans[0]);
  mark(theirs, spans[1]);
  return true;
}

// Of code what was written, not what the page says about it.
/** @param {HTMLElement} block @returns {HTMLElement} */
function spoken(block) {
  return (block.matches(".code") && block.querySelector("pre")) || block;
}

/** @param {HTMLElement} block */
function kindOf(block) {
  return /^H\d$/.test(block.tagName) ? "heading" : block.className || block.tagName;
}

// The text of a block with the nodes it stands in; what is in another cell or item is on another line.
/** @param {HTMLElement} block @returns {Runs} */
function runsOf(block) {
  const walker = document.createTreeWalker(spoken(block), NodeFilter.SHOW_TEXT);
  /** @type {Runs} */
  const found = { text: "", runs: [] };
  /** @type {Element | null | undefined} */
  let before = null;
  while (walker.nextNode()) {
    const node = /** @type {Text} */ (walker.currentNode);
    const within = node.parentElement?.closest(APART);
    if (found.runs.length && within !== before) found.text += "\n";
    found.runs.push({ node, start: found.text.length });
    found.text += node.data;
    before = within;
  }
  return found;
}

/** @param {Runs} found @param {Span[]} words */
function mark({ text, runs }, words) {
  const spans = withoutGaps(text, words);
  for (const { node, start } of runs) {
    const inside = spans.filter(([from, to]) => from < start + node.data.length && to > start);
    if (inside.length) node.replaceWith(...pieces(node.data, inside, start));
  }
}

// Words that differ one after the other are one difference.
/** @param {string} text @param {Span[]} spans @returns {Span[]} */
function withoutGaps(text, spans) {
  /** @type {Span[]} */
  const found = [];
  for (const [from, to] of spans) {
    const last = found[found.length - 1];
    if (last && !text.slice(last[1], from).trim()) last[1] = to;
    else found.push([from, to]);
  }
  return found;
}

/** @param {string} text @param {Span[]} spans @param {number} start Where the text begins in what the spans count. */
function pieces(text, spans, start) {
  /** @type {(string | HTMLElement)[]} */
  const made = [];
  let at = 0;
  for (const [from, to] of spans) {
    const [first, last] = [Math.max(0, from - start), Math.min(text.length, to - start)];
    if (first > at) made.push(text.slice(at, first));
    made.push(element("mark", {}, text.slice(first, last)));
    at = last;
  }
  if (at < text.length) made.push(text.slice(at));
  return made;
}
