import { isChosen, withChosen } from "../commands.js";
import { isBusy, turnHere } from "../state/here.js";

/** @import { Command } from "../commands.js" */
/** @import { State } from "../state/state.js" */
/** @import { TurnActions } from "./actions.js" */

// The answers to the question before the reader; they come before what the same keys do else.
/** @param {(act: string) => void} answer @returns {Command[]} */
export function questionKeys(answer) {
  const when = (/** @type {State} */ state) => Boolean(turnHere(state)?.ask);
  return [
    { name: "agree", keys: ["y"], when, run: () => answer("agree") },
    { name: "refuse", keys: ["n"], when, run: () => answer("refuse") },
    { name: "tick", keys: [..."123456789"], when, byKeyOnly: true, run: (_, key = "") => answer(key) },
  ];
}

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
