// What else can be done with the chosen turn and what follows from it, in a menu: the commands that the palette has, too.

import { shownKey } from "../commands.js";
import { icon } from "../lib/icon.js";
import { html, nothing, render } from "../lib/lit.js";

/** @import { Command } from "../commands.js" */
/** @import { IconName } from "../lib/icon.js" */
/** @import { Say } from "../lib/words.js" */

/** @type {[string, IconName][][]} Of the turn, of its branch, and what takes something away. */
const SHOWN = [
  [
    ["edit_turn", "square-pen"],
    ["pin", "pin"],
    ["note_turn", "sticky-note"],
    ["merge", "git-merge"],
    ["link", "link"],
    ["detach", "unlink"],
  ],
  [
    ["name_branch", "git-branch"],
    ["move_branch", "arrow-right"],
    ["nest_branch", "workflow"],
    ["link_flow", "corner-down-right"],
    ["share_branch", "external-link"],
  ],
  [["delete_branch", "trash"]],
];

/** @param {Say} say @param {() => (Pick<Command, "name" | "keys"> & { act: () => void })[]} operations Those that are possible now. */
export function more(say, operations) {
  const label = say("more");
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
    const groups = SHOWN.map((group) => group.filter(([name]) => found.has(name))).filter((group) => group.length);
    render(
      groups.map((group, place) => [place ? html`<hr>` : nothing, group.map(one)]),
      menu,
    );
  };
  return html`<button type="button" class="icon-button" popovertarget="turn-menu" aria-label=${label} data-tip=${label}>${icon("ellipsis")}</button>
    <div class="menu" id="turn-menu" popover role="group" aria-label=${label} @beforetoggle=${fill}></div>`;
}
