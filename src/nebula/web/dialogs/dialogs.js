// What opens over the page, one sheet at a time. A sheet is a function of the state in a file of its own; what it keeps
// while it is open (a text, a place in a list) is `kept`.

import { comparing } from "../files/compare.js";
import { files } from "../files/files.js";
import { fileLines } from "../files/lines.js";
import { figures } from "../figures/figures.js";
import { linkFlow, linkTurn, mergeTurn, nestBranch, noteTurn, renameTag, turnsOutside } from "../graph/mark_sheets.js";
import { deleteFlow, flowFigures, moveBranch, nameBranch } from "../graph/sheets.js";
import { html, nothing, render } from "../lib/lit.js";
import { permissions } from "../permissions/permissions.js";
import { racing } from "../race/race.js";
import { continuing } from "../state/here.js";
import { help, palette } from "./palette.js";
import { building, deleting, naming } from "./questions.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { Looking } from "../app/looking.js" */
/** @import { Command } from "../commands.js" */
/** @import { FigureActions } from "../figures/actions.js" */
/** @import { FileActions } from "../files/actions.js" */
/** @import { Compared } from "../files/compare.js" */
/** @import { Edits } from "../graph/edits.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Searching } from "../outline/searching.js" */
/** @import { Summaries } from "../outline/summaries.js" */
/** @import { PermissionActions } from "../permissions/actions.js" */
/** @import { RaceActions } from "../race/actions.js" */
/** @import { Loading } from "../server/loading.js" */
/** @import { Selectors } from "../state/selectors.js" */
/** @import { State, View } from "../state/state.js" */
/**
 * @typedef {object} SheetActions
 * @property {Pick<Looking, "look">} looking
 * @property {Pick<Choosing, "goTo" | "open" | "parentsOf">} choosing
 * @property {Edits} edits
 * @property {FileActions} files
 * @property {FigureActions} figures
 * @property {Pick<PermissionActions, "revoke">} permissions
 * @property {RaceActions} races
 * @property {Pick<Searching, "search">} searching
 * @property {Summaries} summaries
 * @property {Loading} loading
 * @property {Selectors} selectors
 * @property {Command[]} commands
 * @property {() => void} write Goes to the prompt.
 */
/** @typedef {{ text: string, active: number, what: "cost" | "tokens" | "tasks", compared: Compared | null, picked: string, entrants: string[], known: string, about: string[] }} Kept `entrants`: the model of each try, empty for the configured one; `known`: what was told before it was opened; `about`: the turns that were chosen then, whatever is chosen meanwhile. */
/**
 * @typedef {object} Sheet
 * @property {State} state
 * @property {Say} say
 * @property {SheetActions} actions
 * @property {() => void} close
 * @property {() => void} redraw
 * @property {(command: Command) => void} run
 * @property {Kept} kept
 */

/** @type {Record<Exclude<View["dialog"], "">, (sheet: Sheet) => any>} */
const SHEETS = {
  build: building,
  compare: comparing,
  count_flow: flowFigures,
  delete: deleting,
  delete_flow: deleteFlow,
  figures,
  files,
  help,
  lines: fileLines,
  link_flow: linkFlow,
  link_turn: linkTurn,
  merge_turn: mergeTurn,
  move_branch: moveBranch,
  name_branch: nameBranch,
  nest_branch: nestBranch,
  new_flow: naming,
  note_turn: noteTurn,
  outside: turnsOutside,
  palette,
  permissions,
  race: racing,
  rename_flow: naming,
  rename_tag: renameTag,
};

// What is told while it is open stands in it: the page below is dim, and silent.
/** @param {State} state @param {Say} say @param {Kept} kept */
function told({ status, notice }, say, { known }) {
  const news = notice === known ? "" : notice;
  return html`<p class="told" role="status">${status === "open" ? news : say(status)}</p>`;
}

/** @param {HTMLDialogElement} root @param {SheetActions} actions @param {{ readonly state: State }} store @param {() => void} drawNow */
export function createDialogs(root, actions, store, drawNow) {
  /** @returns {Kept} */
  const fresh = () => ({
    text: "",
    active: 0,
    what: "cost",
    compared: null,
    picked: "",
    entrants: ["", "", ""],
    known: store.state.notice,
    about: continuing(store.state),
  });
  const view = { shown: "", kept: fresh() };
  // Drawn at once: the element tells of its "close" a little later, and the next key is the page's by then.
  const left = () => {
    actions.looking.look({ dialog: "" });
    drawNow();
  };
  const close = () => {
    root.close();
    left();
  };
  root.addEventListener("cancel", ({ target }) => target === root && left());
  // Without "cancel" before it where a browser thinks that the reader did nothing since the last one.
  const isShown = () => view.shown !== "" && view.shown === store.state.view.dialog;
  root.addEventListener("close", () => !root.open && isShown() && left());
  const run = (/** @type {Command} */ command) => {
    close();
    command.run(store.state);
    drawNow(); // what is typed next belongs to what it opened
  };

  /** @param {State} state @param {Say} say */
  function draw(state, say) {
    const { dialog } = state.view;
    const opens = dialog !== "" && dialog !== view.shown; // one that the reader has just closed is not opened again
    if (dialog !== view.shown) Object.assign(view, { shown: dialog, kept: fresh() });
    root.dataset.sheet = dialog;
    const redraw = () => draw(store.state, say); // another sheet may be open by then
    const { kept } = view;
    const closeIt = () => kept === view.kept && close(); // and no other, which the reader opened meanwhile
    const sheet = { state, say, actions, close: closeIt, redraw, run, kept };
    render(dialog ? html`${SHEETS[dialog](sheet)}${told(state, say, kept)}` : nothing, root);
    if (opens && !root.open) {
      root.showModal();
      // Not the way out, which comes first: the field to write into, else the sheet as a whole, which keys scroll.
      const field = /** @type {HTMLElement | null} */ (root.querySelector("textarea, input[type=text]"));
      if (root.querySelector(".bar")) (field ?? root).focus();
    } else if (!dialog && root.open) root.close();
  }
  return { draw };
}
