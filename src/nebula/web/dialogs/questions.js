// What is asked before something is done: the name of a flow, whether to build, whether to delete several turns.

import { fieldOf } from "../lib/dom.js";
import { html, nothing } from "../lib/lit.js";
import { bar } from "./bar.js";

/** @import { Say } from "../lib/words.js" */
/** @import { Sheet } from "./dialogs.js" */

/** @param {Sheet} sheet */
export function naming({ state, say, actions: { edits, loading }, close }) {
  const renaming = state.view.dialog === "rename_flow";
  const make = async (/** @type {string} */ name) => {
    const id = await edits.createFlow(name);
    if (id) loading.chooseFlow(id);
    return Boolean(id);
  };
  const submit = (/** @type {Event} */ event) => {
    const name = fieldOf(event, "name");
    if (name) carriedOut(event, close, () => (renaming ? edits.renameFlow(name) : make(name)));
  };
  const now = renaming ? state.flow.name : "";
  return named(say(`cmd_${state.view.dialog}`), say, close, submit, { label: say("flow_name"), now });
}

/**
 * Does once what a sheet was submitted for: what was typed stays there until the server has it.
 * @param {Event} event
 * @param {() => void} close
 * @param {() => Promise<boolean>} act
 */
export async function carriedOut({ target }, close, act) {
  const form = /** @type {HTMLFormElement} */ (target);
  if (form.ariaBusy) return;
  form.ariaBusy = "true";
  const done = await act();
  form.ariaBusy = null;
  if (done) close();
}

/**
 * A name, asked for in one line.
 * @param {string} title
 * @param {Say} say
 * @param {() => void} close
 * @param {(event: Event) => void} submit
 * @param {{ label: string, now?: string, about?: string, may?: "be empty" }} field
 */
export function named(title, say, close, submit, { label, now = "", about = "", may }) {
  return html`${bar(title, say, close)}
    ${about ? html`<p class="hint">${about}</p>` : nothing}
    <form @submit=${submit}>
      <input name="name" type="text" autocomplete="off" ?required=${!may} pattern=${may ? nothing : ".*\\S.*"} placeholder=${label} aria-label=${label} .value=${now}>
      <button type="submit" class="primary">${say("save")}</button>
    </form>`;
}

/** @param {Sheet} sheet */
export function building({ state, say, actions, close }) {
  const text = say("ask_build", { count: state.view.due.length });
  return asked(say("build"), text, say, close, actions.summaries.build, { yes: say("build_now") });
}

/** @param {Sheet} sheet */
export function deleting({ say, actions, close, kept }) {
  const ids = kept.about;
  const how = { yes: say("delete_several", { count: ids.length }), kind: "danger" };
  return asked(
    say("delete"),
    say("ask_delete", { count: ids.length }),
    say,
    close,
    () => actions.edits.remove(ids),
    how,
  );
}

/**
 * Whether something shall be done: the button says what.
 * @param {string} title
 * @param {string} text
 * @param {Say} say
 * @param {() => void} close
 * @param {() => void} act
 * @param {{ yes: string, kind?: string }} how
 */
export function asked(title, text, say, close, act, { yes, kind = "primary" }) {
  const agree = () => {
    close();
    act();
  };
  return html`${bar(title, say, close)}
    <p>${text}</p>
    <div class="ends"><button type="button" @click=${close}>${say("cancel")}</button><button type="button" class=${kind} @click=${agree}>${yes}</button></div>`;
}
