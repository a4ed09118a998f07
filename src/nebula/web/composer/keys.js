import { isChosen, withChosen } from "../commands.js";
import { writes } from "../state/here.js";

/** @import { Command } from "../commands.js" */
/** @import { PermissionActions } from "../permissions/actions.js" */
/** @import { ComposingActions } from "./actions.js" */
/** @import { State } from "../state/state.js" */

/** @param {Pick<ComposingActions, "refer" | "switchMode">} composing @param {Pick<PermissionActions, "show">} permissions @param {() => void} focusPrompt @param {() => void} start @returns {Command[]} */
export function composerKeys({ refer, switchMode }, { show }, focusPrompt, start) {
  const hasModes = (/** @type {State} */ { modes }) => modes.includes("plan") && !modes.includes("chat");
  return [
    { name: "continue", keys: ["c"], run: focusPrompt },
    { name: "start", keys: ["n"], run: start },
    { name: "reference", keys: ["@"], when: isChosen, run: withChosen(refer) },
    { name: "mode", keys: ["p"], when: hasModes, run: switchMode },
    { name: "permissions", keys: [], when: writes, run: show },
  ];
}
