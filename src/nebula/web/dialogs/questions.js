// What is asked before something is done: the name of a flow, whether to build, whether to delete several turns.

import { html } from "../lib/lit.js";
import { continuing } from "../state/reduce.js";

export function naming({ state, say, page, close }) {
  const renaming = state.view.dialog === "rename_flow";
  const submit = (event) => {
    event.preventDefault();
    const name = event.target.elements.name.value.trim();
    if (!name) return;
    close();
    if (renaming) page.renameFlow(name);
    else page.createFlow(name);
  };
  return html`<h2 id="dialog-title">${say(`cmd_${state.view.dialog}`)}</h2>
    <form @submit=${submit}>
      <input name="name" type="text" autocomplete="off" required aria-label=${say("flow_name")} .value=${renaming ? state.flow.name : ""}>
      <button type="submit" class="primary">${say("save")}</button>
    </form>`;
}

export function building({ state, say, page, close }) {
  return asked(say("build"), say("ask_build", { count: state.view.due.length }), say, close, () => page.build());
}

export function deleting({ state, say, page, close }) {
  const ids = continuing(state);
  return asked(say("delete"), say("ask_delete", { count: ids.length }), say, close, () => page.removeAll(ids));
}

function asked(title, text, say, close, act) {
  const agree = () => {
    close();
    act();
  };
  return html`<h2 id="dialog-title">${title}</h2>
    <p>${text}</p>
    <button type="button" class="primary" @click=${agree}>${say("yes")}</button> <button type="button" @click=${close}>${say("no")}</button>`;
}
