// What is offered while one types: commands after a slash, files after an `@`; completed by keys or pointer.

import { isEnter } from "../lib/dom.js";
import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { MOST_ROWS, offeredFor, pathTyped } from "./typed.js";

/** @import { IconName } from "../lib/icon.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { SlashCommand, State } from "../state/state.js" */
/** @typedef {{ text: string, replaces: number, shown: any }} Offer What stands in the place of so many letters. */

/** @type {Record<string, IconName>} */
const SIGNS = { user: "square-terminal", project: "folder", server: "wrench" };

/**
 * @param {() => HTMLTextAreaElement} box
 * @param {() => State} state
 * @param {{ load: () => void, find: (text: string) => void, changed: () => void }} news `load` fetches the commands, `find` files, `changed` has it drawn again.
 */
export function createSlash(box, state, { load, find, changed }) {
  const view = { isOpen: false, isShut: false, active: 0 };
  const path = () => pathTyped(box().value, box().selectionStart);

  /** @param {Say | null} say @returns {Offer[]} */
  function rows(say = null) {
    if (!view.isOpen) return [];
    const typed = path();
    const { found, commands } = state();
    if (typed === null) return offeredFor(commands, box().value).map((each) => command(each, box().value, say));
    return found.text === typed.toLowerCase() ? found.paths.slice(0, MOST_ROWS).map((each) => file(each, typed)) : [];
  }
  const shut = () => {
    Object.assign(view, { isOpen: false, isShut: true });
    changed();
  };
  const take = (/** @type {Offer} */ { text, replaces }) => {
    const end = path() === null ? box().value.length : box().selectionStart;
    box().setRangeText(text, end - replaces, end, "end");
    box().dispatchEvent(new Event("input", { bubbles: true }));
    box().focus();
  };
  const step = (/** @type {number} */ by, /** @type {number} */ count) => {
    view.active = (view.active + by + count) % count;
    changed();
  };

  return {
    typed() {
      const typed = path();
      const names = typed !== null || /^\/\S*$/.test(box().value);
      if (typed !== null) find(typed.toLowerCase());
      else if (names && !view.isOpen && !view.isShut) load();
      Object.assign(view, { isOpen: names && !view.isShut, isShut: names && view.isShut, active: 0 });
      changed();
    },
    /** @param {KeyboardEvent} event @returns {boolean} Whether the key was meant for the list. */
    pressed(event) {
      const found = rows();
      const chosen = found[view.active];
      if (!chosen || event.isComposing) return false;
      const complete = box().value.endsWith(chosen.text.trimEnd());
      if (event.key === "ArrowDown") step(1, found.length);
      else if (event.key === "ArrowUp") step(-1, found.length);
      else if (event.key === "Tab" && !event.shiftKey) take(chosen);
      else if (isEnter(event) && !event.shiftKey && !complete) take(chosen);
      else if (event.key === "Escape") shut();
      else return false;
      event.preventDefault();
      event.stopPropagation();
      return true;
    },
    /** The id of the row that Enter takes; null where nothing is offered. */
    active: () => (rows()[view.active] ? `slash-${view.active}` : null),
    /** @param {Say} say */
    draw(say) {
      const found = rows(say);
      if (!found.length) return nothing;
      const line = (/** @type {Offer} */ each, /** @type {number} */ place) =>
        html`<li id=${`slash-${place}`} role="option" aria-selected=${place === view.active ? "true" : "false"} @pointerdown=${(/** @type {Event} */ event) => event.preventDefault()} @click=${() => take(each)}>${each.shown}</li>`;
      return html`<ul id="slash-list" class="slash" role="listbox" aria-label=${say(path() === null ? "slash_list" : "files")}>${found.map(line)}</ul>`;
    },
  };
}

/** @param {SlashCommand} command @param {string} typed @param {Say | null} say @returns {Offer} */
function command({ name, usage, about, owner }, typed, say) {
  const shown = html`${icon(SIGNS[owner] ?? "terminal")}<b>/${name}</b> <span class="usage">${usage}</span><span class="about">${about || say?.(`cmd_${name}`)}</span><span class="kind">${say?.(`owner_${owner}`)}</span>`;
  return { text: `/${name} `, replaces: typed.length, shown };
}

/** @param {string} path @param {string} typed @returns {Offer} */
function file(path, typed) {
  const end = path.lastIndexOf("/") + 1;
  const shown = html`${icon("file")}<b>${path.slice(end)}</b> <span class="about">${path.slice(0, end)}</span>`;
  return { text: `@${/\s/.test(path) ? `"${path}"` : path} `, replaces: typed.length + 1, shown };
}
