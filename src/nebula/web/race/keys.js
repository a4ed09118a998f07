/** @import { Command } from "../commands.js" */
/** @import { State } from "../state/state.js" */
/** @import { RaceActions } from "./actions.js" */

/** @param {Pick<RaceActions, "siblings" | "showTries">} races @param {() => void} show @returns {Command[]} */
export function raceKeys({ siblings, showTries }, show) {
  const hasFiles = (/** @type {State} */ { project }) => project.root !== "";
  const mayCompare = (/** @type {State} */ state) => {
    const { length } = siblings(state);
    return hasFiles(state) && length > 1 && length <= 8;
  };
  return [
    { name: "race", keys: ["w"], when: hasFiles, run: show },
    { name: "tries", keys: ["u"], when: mayCompare, run: (state) => showTries(siblings(state)) },
  ];
}
