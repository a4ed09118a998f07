import { isChosen, withChosen } from "../commands.js";
import { continuing } from "../state/here.js";

/** @import { Command } from "../commands.js" */
/** @import { FileActions } from "./actions.js" */

/** @param {FileActions} files @returns {Command[]} */
export function fileKeys({ compare, lookAtFiles }) {
  return [
    {
      name: "compare",
      keys: ["d"],
      when: (state) => continuing(state).length === 2,
      run: (state) => compare(continuing(state)),
    },
    {
      name: "files",
      keys: ["v"],
      when: (state) => isChosen(state) && state.project.root !== "",
      run: withChosen(lookAtFiles),
    },
  ];
}
