// What else can be done with the chosen turn and what follows from it, in a menu: the commands that the palette has, too.

import { menuOf } from "../lib/menu.js";

/** @import { IconName } from "../lib/icon.js" */
/** @import { Operations } from "../lib/menu.js" */
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

/** @param {Say} say @param {Operations} operations */
export const more = (say, operations) => menuOf("turn-menu", say("more"), SHOWN, say, operations);
