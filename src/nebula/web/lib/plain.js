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

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*$/;

// Text and fenced code of an answer too long to be parsed: a fence that is not closed goes on to the end.
/** @param {string} text @returns {{ text: string, language: string | null }[]} `language` is null for what is no code. */
export function fencesOf(text) {
  /** @type {{ text: string, language: string | null }[]} */
  const parts = [];
  let [mark, language, start] = ["", /** @type {string | null} */ (null), 0];
  const close = (/** @type {number} */ end) => {
    if (end > start) parts.push({ text: text.slice(start, end), language });
  };
  for (let at = 0; at < text.length;) {
    const stop = text.indexOf("\n", at);
    const next = stop < 0 ? text.length : stop + 1;
    const line = text.slice(at, Math.min(next, at + 200)).trimEnd();
    const found = FENCE.exec(line);
    const closes = mark !== "" && found !== null && found[1].startsWith(mark) && line.trim() === found[1];
    if (found && (closes || mark === "")) {
      close(at);
      [mark, language, start] = closes ? ["", null, next] : [found[1], found[2], next];
    }
    at = next;
  }
  close(text.length);
  return parts;
}

/** @param {string} text */
export function inPieces(text) {
  const all = document.createDocumentFragment();
  all.append(...pieces(text).map((piece) => element("div", { class: "piece" }, piece.replace(/\n$/, ""))));
  return all;
}
