// A field and a list below it: what is typed narrows the list, arrow keys go through it, Enter or a click takes one.

import { isEnter, valueOf } from "../lib/dom.js";
import { icon } from "../lib/icon.js";
import { html, nothing, repeat } from "../lib/lit.js";

/** @import { IconName } from "../lib/icon.js" */
/** @import { Sheet } from "./dialogs.js" */
/**
 * @typedef {object} Choice
 * @property {string} id
 * @property {IconName} sign
 * @property {string} label
 * @property {string} kind
 * @property {() => void} act
 * @property {any} [keys]
 */

const MOST_ROWS = 10;

/**
 * @param {Sheet} sheet
 * @param {string} name What is chosen from.
 * @param {string} hint
 * @param {Choice[]} rows
 */
export function picker({ say, kept, redraw, actions }, name, hint, rows) {
  const active = rows[kept.active];
  const oninput = (/** @type {Event} */ event) => {
    Object.assign(kept, { text: valueOf(event), active: 0 });
    redraw();
    actions.files.find(wanted(kept.text));
  };
  const onkeydown = (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing) return; // what an input method offers is chosen by the same keys
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) kept.active = (kept.active + step + rows.length) % Math.max(1, rows.length);
    else if (isEnter(event) && active) active.act();
    else return;
    event.preventDefault();
    redraw();
  };
  const point = (/** @type {Choice} */ row) => {
    if (row === active) return;
    kept.active = rows.indexOf(row);
    redraw();
  };
  const line = (/** @type {Choice} */ row) =>
    html`<li id=${row.id} role="option" aria-selected=${row === active ? "true" : "false"} @pointermove=${() => point(row)} @click=${row.act}>${icon(row.sign)}<span class="label">${row.label}</span><span class="kind">${row.kind}</span>${row.keys}</li>`;
  return html`<input type="text" autocomplete="off" role="combobox" aria-expanded="true" aria-controls="palette-list" placeholder=${hint} aria-label=${hint}
      aria-activedescendant=${active ? active.id : nothing} @input=${oninput} @keydown=${onkeydown}>
    <ul id="palette-list" role="listbox" aria-label=${name}>${repeat(rows, (row) => row.id, line)}</ul>
    ${rows.length ? nothing : html`<p>${say("no_hits")}</p>`}`;
}

/** @param {string} text */
export const wanted = (text) => text.trim().toLowerCase();

// Turns of this flow by their titles, the newest first, with what the server found in their words.
/** @param {Sheet} sheet @param {(id: string) => void} take @param {(id: string) => boolean} fits @returns {Choice[]} */
export function turnChoices({ state, say, kept }, take, fits = () => true) {
  const text = wanted(kept.text);
  const inFlow = new Set(state.flow.nodes);
  const known = state.flow.nodes.toReversed().flatMap((id) => state.briefs.get(id) ?? []);
  const titled = known.filter(({ title = "" }) => title.toLowerCase().includes(text));
  const said = state.found; // read here each time, so that what comes later is drawn
  const found = text && said.text === text ? said.nodes : [];
  return [...new Map([...titled, ...found].map((brief) => [brief.id, brief])).values()]
    .filter(({ id }) => inFlow.has(id) && fits(id))
    .slice(0, MOST_ROWS)
    .map(({ id, title = "" }) => ({
      id: `turn-${id}`,
      sign: "message-square",
      label: title || say("untitled"),
      kind: say("a_turn"),
      act: () => take(id),
    }));
}
