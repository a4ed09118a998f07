import { isChosen, withChosen } from "../commands.js";
import { isBusy } from "../state/here.js";

/** @import { Command } from "../commands.js" */
/** @import { TurnActions } from "./actions.js" */

/** @param {TurnActions} turns @param {() => void} focusTags @returns {Command[]} */
export function turnKeys({ retry, edit, stop, beside }, focusTags) {
  return [
    { name: "retry", keys: ["r"], when: isChosen, run: withChosen(retry) },
    { name: "edit", keys: ["e"], when: isChosen, run: withChosen(edit) },
    { name: "tags", keys: ["t"], when: isChosen, run: focusTags },
    { name: "stop", keys: ["s"], when: isBusy, run: ({ turn }) => turn !== null && stop(turn) },
    { name: "beside", keys: ["a"], when: isBusy, run: beside },
  ];
}
