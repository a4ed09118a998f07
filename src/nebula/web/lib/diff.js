// A unified diff as lines that say what they are, whole or hunk by hunk.

import { html } from "./lit.js";

const HEADS = /^(---|\+\+\+) /;
/** @type {Record<string, string>} */
const KINDS = { "+": "added", "-": "removed", "@": "place" };

/** @param {string} text @param {string} label */
export function diffOf(text, label) {
  return html`<pre class="diff" tabindex="0" aria-label=${label}>${lines(text)}</pre>`;
}

/** @param {string} diff */
function lines(diff) {
  const kind = (/** @type {string} */ line, /** @type {number} */ place) => (place < 2 && HEADS.test(line) ? "place" : (KINDS[line[0]] ?? ""));
  const all = diff.replace(/\n$/, "").split("\n");
  return all.map((line, place) => html`<span class="line ${kind(line, place)}">${`${line}\n`}</span>`);
}

// The hunks, each from its own line that begins with @@; what stands above the first names the file.
/** @param {string} diff @returns {string[]} */
export function hunksOf(diff) {
  return diff.split(/(?<=^|\n)(?=@@ )/).filter((part) => part.startsWith("@@ "));
}
