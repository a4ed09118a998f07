// What else can be done with the chosen turn and what follows from it, in a menu: the commands that the palette has, too.

import { icon } from "../lib/icon.js";
import { html, nothing, render } from "../lib/lit.js";

/** @import { Command } from "../commands.js" */
/** @import { IconName } from "../lib/icon.js" */
/** @import { Say } from "../lib/words.js" */

/** @type {[string, IconName][]} */
const SHOWN = [
  ["edit_turn", "square-pen"],
  ["pin", "pin"],
  ["note_turn", "sticky-note"],
  ["link", "link"],
  ["detach", "unlink"],
  ["name_branch", "git-branch"],
  ["move_branch", "arrow-right"],
  ["nest_branch", "workflow"],
  ["link_flow", "corner-down-right"],
  ["share_branch", "external-link"],
  ["delete_branch", "trash"],
];

/** @param {Say} say @param {() => (Pick<Command, "name"> & { act: () => void })[]} operations Those that are possible now. */
export function more(say, operations) {
  const label = say("more");
  const fill = (/** @type {ToggleEvent} */ { newState, target }) => {
    const menu = /** @type {HTMLElement} */ (target);
    const found = new Map(newState === "open" ? operations().map((each) => [each.name, each.act]) : []);
    const one = (/** @type {[string, IconName]} */ [name, sign]) => {
      const press = () => {
        menu.hidePopover();
        found.get(name)?.();
      };
      return found.has(name)
        ? html`<button type="button" class="quiet" @click=${press}>${icon(sign)}${say(`cmd_${name}`)}</button>`
        : nothing;
    };
    render(SHOWN.map(one), menu);
  };
  return html`<button type="button" class="icon-button" popovertarget="turn-menu" aria-label=${label} data-tip=${label}>${icon("ellipsis")}</button>
    <div class="menu" id="turn-menu" popover role="group" aria-label=${label} @beforetoggle=${fill}></div>`;
}
