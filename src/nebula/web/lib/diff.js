// A unified diff as lines that say what they are.

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
  const kind = (/** @type {string} */ line, /** @type {number} */ place) =>
    place < 2 && HEADS.test(line) ? "place" : (KINDS[line[0]] ?? "");
  const all = diff.replace(/\n$/, "").split("\n");
  return all.map((line, place) => html`<span class="line ${kind(line, place)}">${`${line}\n`}</span>`);
}
