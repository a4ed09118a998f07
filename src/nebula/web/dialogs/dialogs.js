// What opens over the page, one sheet at a time. A sheet is a function of the state in a file of its own; what it keeps
// while it is open (a text, a place in a list) is `view.kept`.

import { nothing, render } from "../lib/lit.js";
import { comparing } from "./compare.js";
import { figures } from "./figures.js";
import { files } from "./files.js";
import { help, palette } from "./palette.js";
import { building, deleting, naming } from "./questions.js";

const SHEETS = {
  build: building,
  compare: comparing,
  delete: deleting,
  figures,
  files,
  help,
  new_flow: naming,
  palette,
  rename_flow: naming,
};

export function createDialogs(root, page) {
  const view = { shown: "", kept: {} };
  root.addEventListener("close", () => root.open || page.look({ dialog: "" })); // another may be open by then
  const close = () => root.close();
  const redraw = () => draw(page.state, page.say);
  const run = (command) => {
    root.close();
    page.look({ dialog: "" });
    view.shown = "";
    command.run(page);
    page.drawNow(); // what is typed next belongs to what it opened
  };

  function draw(state, say) {
    const { dialog } = state.view;
    const opens = dialog !== "" && dialog !== view.shown; // one that the reader has just closed is not opened again
    if (dialog !== view.shown) Object.assign(view, { shown: dialog, kept: {} });
    root.dataset.sheet = dialog;
    render(dialog ? SHEETS[dialog]({ state, say, page, close, redraw, run, kept: view.kept }) : nothing, root);
    if (opens && !root.open) root.showModal();
    else if (!dialog && root.open) root.close();
  }
  return { draw };
}
