// Commands that begin with a slash: offered while one is typed, completed by keys or pointer.

import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { offeredFor } from "./typed.js";

/** @import { IconName } from "../lib/icon.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { SlashCommand } from "../state/state.js" */

/** @type {Record<string, IconName>} */
const SIGNS = { user: "square-terminal", project: "folder", server: "wrench" };

/**
 * @param {() => HTMLTextAreaElement} box
 * @param {() => SlashCommand[]} commands
 * @param {{ load: () => void, changed: () => void }} news `load` fetches the commands, `changed` has it drawn again.
 */
export function createSlash(box, commands, { load, changed }) {
  const view = { isOpen: false, isShut: false, active: 0 };
  const rows = () => (view.isOpen ? offeredFor(commands(), box().value) : []);
  const shut = () => {
    Object.assign(view, { isOpen: false, isShut: true });
    changed();
  };
  const take = (/** @type {SlashCommand} */ { name }) => {
    box().value = `/${name} `;
    box().dispatchEvent(new Event("input", { bubbles: true }));
    box().focus();
  };
  const step = (/** @type {number} */ by, /** @type {number} */ count) => {
    view.active = (view.active + by + count) % count;
    changed();
  };

  return {
    typed() {
      const names = /^\/\S*$/.test(box().value);
      if (names && !view.isOpen && !view.isShut) load();
      Object.assign(view, { isOpen: names && !view.isShut, isShut: names && view.isShut, active: 0 });
      changed();
    },
    /** @param {KeyboardEvent} event @returns {boolean} Whether the key was meant for the list. */
    pressed(event) {
      const found = rows();
      const chosen = found[view.active];
      if (!chosen || event.isComposing) return false;
      const complete = box().value === `/${chosen.name}`;
      if (event.key === "ArrowDown") step(1, found.length);
      else if (event.key === "ArrowUp") step(-1, found.length);
      else if (event.key === "Tab" && !event.shiftKey) take(chosen);
      else if (event.key === "Enter" && !event.shiftKey && !complete) take(chosen);
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
      const found = rows();
      if (!found.length) return nothing;
      const line = (/** @type {SlashCommand} */ each, /** @type {number} */ place) =>
        html`<li id=${`slash-${place}`} role="option" aria-selected=${place === view.active ? "true" : "false"} @pointerdown=${(/** @type {Event} */ event) => event.preventDefault()} @click=${() => take(each)}>${icon(SIGNS[each.owner] ?? "terminal")}<b>/${each.name}</b> <span class="usage">${each.usage}</span><span class="about">${each.about}</span><span class="kind">${say(`owner_${each.owner}`)}</span></li>`;
      return html`<ul id="slash-list" class="slash" role="listbox" aria-label=${say("slash_list")}>${found.map(line)}</ul>`;
    },
  };
}
