// A menu of commands, those that the palette has, too: it is filled when it opens, with what is possible then.
//
//   html`${menuOf("turn-menu", say("more"), [[["pin", "pin"]], [["delete", "trash"]]], say, operations)}`

import { shownKey } from "../commands.js";
import { icon } from "./icon.js";
import { html, nothing, render } from "./lit.js";

/** @import { Command } from "../commands.js" */
/** @import { IconName } from "./icon.js" */
/** @import { Say } from "./words.js" */
/** @typedef {() => (Pick<Command, "name" | "keys"> & { act: () => void })[]} Operations Those that are possible now. */

/**
 * @param {string} id
 * @param {string} label
 * @param {[string, IconName][][]} shown The names of commands, in groups.
 * @param {Say} say
 * @param {Operations} operations
 */
export function menuOf(id, label, shown, say, operations) {
  const fill = (/** @type {ToggleEvent} */ { newState, target }) => {
    const menu = /** @type {HTMLElement} */ (target);
    const found = new Map(newState === "open" ? operations().map((each) => [each.name, each]) : []);
    const one = (/** @type {[string, IconName]} */ [name, sign]) => {
      const press = () => {
        menu.hidePopover();
        found.get(name)?.act();
      };
      const [key] = found.get(name)?.keys ?? [];
      return html`<button type="button" class="quiet ${name}" @click=${press}>${icon(sign)}${say(`cmd_${name}`)}${key ? html`<kbd aria-hidden="true">${shownKey(key)}</kbd>` : nothing}</button>`;
    };
    const groups = shown.map((group) => group.filter(([name]) => found.has(name))).filter((group) => group.length);
    render(
      groups.map((group, place) => [place ? html`<hr>` : nothing, group.map(one)]),
      menu,
    );
  };
  return html`<button type="button" class="icon-button" popovertarget=${id} aria-label=${label} data-tip=${label}>${icon("ellipsis")}</button>
    <div class="menu" id=${id} popover role="group" aria-label=${label} @beforetoggle=${fill}></div>`;
}
