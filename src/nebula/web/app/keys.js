/** @import { Command } from "../commands.js" */
/** @import { FigureActions } from "../figures/actions.js" */
/** @import { Looking } from "./looking.js" */

/** @param {Looking} looking @returns {Command[]} */
export function sheetKeys({ look }) {
  return [
    { name: "palette", keys: ["Ctrl+k"], run: () => look({ dialog: "palette" }) },
    { name: "help", keys: ["?"], run: () => look({ dialog: "help" }) },
  ];
}

/** @param {Looking} looking @param {FigureActions} figures @returns {Command[]} */
export function pageKeys({ look, toggleNotify, nextTheme, nextLanguage }, { showFigures }) {
  return [
    { name: "figures", keys: ["i"], run: () => showFigures() },
    { name: "drawer", keys: ["b"], run: ({ view }) => look({ drawer: !view.drawer }) },
    { name: "notify", keys: [], run: toggleNotify },
    { name: "theme", keys: [], run: nextTheme },
    { name: "language", keys: [], run: nextLanguage },
  ];
}
