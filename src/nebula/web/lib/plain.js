// Very long text in pieces, so that the browser lays out only what is near the screen.

import { element } from "./dom.js";

const MOST_CHARACTERS = 200_000;
const MOST_LINES = 4000;
const LINES_A_PIECE = 60;
const CHARACTERS_A_PIECE = 6000;

/** @param {string} text */
export function isLong(text) {
  if (text.length > MOST_CHARACTERS) return true;
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0 && lines <= MOST_LINES; at = text.indexOf("\n", at + 1)) lines++;
  return lines > MOST_LINES;
}

/** @param {string} text @returns {string[]} */
export function pieces(text) {
  /** @type {string[]} */
  const found = [];
  for (let start = 0; start < text.length;) {
    let end = start;
    for (let lines = 0; lines < LINES_A_PIECE && end < text.length && end - start < CHARACTERS_A_PIECE; lines++) {
      const stop = text.indexOf("\n", end);
      end = stop < 0 ? text.length : stop + 1;
    }
    end = Math.min(end, start + 2 * CHARACTERS_A_PIECE); // one line without an end
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1])) end--;
    found.push(text.slice(start, end));
    start = end;
  }
  return found;
}

/** @param {string} text */
export function inPieces(text) {
  const all = document.createDocumentFragment();
  all.append(...pieces(text).map((piece) => element("div", { class: "piece" }, piece.replace(/\n$/, ""))));
  return all;
}
