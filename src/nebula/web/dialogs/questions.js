// What is asked before something is done: the name of a flow, whether to build, whether to delete several turns.

import { fieldOf } from "../lib/dom.js";
import { html } from "../lib/lit.js";
import { continuing } from "../state/here.js";

/** @import { Say } from "../lib/words.js" */
/** @import { Sheet } from "./dialogs.js" */

/** @param {Sheet} sheet */
export function naming({ state, say, actions: { edits, loading }, close }) {
  const renaming = state.view.dialog === "rename_flow";
  const submit = async (/** @type {Event} */ event) => {
    const name = fieldOf(event, "name");
    if (!name) return;
    close();
    if (renaming) edits.renameFlow(name);
    else if (await edits.createFlow(name)) loading.chooseFlow(name);
  };
  return html`<h2 id="dialog-title">${say(`cmd_${state.view.dialog}`)}</h2>
    <form @submit=${submit}>
      <input name="name" type="text" autocomplete="off" required aria-label=${say("flow_name")} .value=${renaming ? state.flow.name : ""}>
      <button type="submit" class="primary">${say("save")}</button>
    </form>`;
}

/** @param {Sheet} sheet */
export function building({ state, say, actions, close }) {
  const text = say("ask_build", { count: state.view.due.length });
  return asked(say("build"), text, say, close, actions.summaries.build);
}

/** @param {Sheet} sheet */
export function deleting({ state, say, actions, close }) {
  const ids = continuing(state);
  return asked(say("delete"), say("ask_delete", { count: ids.length }), say, close, () => actions.edits.remove(ids));
}

/** @param {string} title @param {string} text @param {Say} say @param {() => void} close @param {() => void} act */
function asked(title, text, say, close, act) {
  const agree = () => {
    close();
    act();
  };
  return html`<h2 id="dialog-title">${title}</h2>
    <p>${text}</p>
    <button type="button" class="primary" @click=${agree}>${say("yes")}</button> <button type="button" @click=${close}>${say("no")}</button>`;
}
