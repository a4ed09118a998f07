// What is asked before a turn, a branch or a flow is changed, and what a flow comes to.

import { bar } from "../dialogs/bar.js";
import { asked, carriedOut, named } from "../dialogs/questions.js";
import { roughly } from "../figures/measures.js";
import { fieldOf } from "../lib/dom.js";
import { html } from "../lib/lit.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */

/** @param {Sheet} sheet */
export function moveBranch({ state, say, actions: { edits }, close, kept }) {
  const others = state.flows.filter((flow) => flow.id !== state.flow.id);
  const submit = (/** @type {Event} */ event) => {
    const form = /** @type {HTMLFormElement} */ (event.target);
    const copy = /** @type {HTMLInputElement} */ (form.elements.namedItem("copy")).checked;
    const to = fieldOf(event, "to");
    carriedOut(event, close, () => edits.moveBranch(kept.about[0], to, copy));
  };
  return html`${bar(say("cmd_move_branch"), say, close)}
    <form class="fields" @submit=${submit}>
      <label>${say("move_to")}<select name="to">${others.map((flow) => html`<option value=${flow.id}>${flow.name}</option>`)}</select></label>
      <label class="check"><input name="copy" type="checkbox"> ${say("move_copy")}</label>
      <button type="submit" class="primary">${say("move_do")}</button>
    </form>`;
}

/** @param {Sheet} sheet */
export function nameBranch({ state, say, actions: { edits, choosing }, close, kept }) {
  const [id] = kept.about;
  const [parent = ""] = choosing.parentsOf(id);
  const submit = (/** @type {Event} */ event) => {
    const name = fieldOf(event, "name");
    carriedOut(event, close, () => edits.nameBranch(parent, id, name));
  };
  const now = state.flow.branches?.[id] ?? "";
  return named(say("cmd_name_branch"), say, close, submit, { label: say("branch_name"), now, may: "be empty" });
}

/** @param {Sheet} sheet */
export function deleteFlow({ state, say, actions: { edits, loading }, close }) {
  const agree = async () => {
    const others = state.flows.filter((flow) => flow.id !== state.flow.id);
    const next = (others.find((flow) => !flow.archived) ?? others[0])?.id ?? "main";
    if (await edits.deleteFlow()) loading.chooseFlow(next);
  };
  const text = say("ask_delete_flow", { name: state.flow.name });
  return asked(say("cmd_delete_flow"), text, say, close, agree, { yes: say("cmd_delete_flow"), kind: "danger" });
}

/** @param {Sheet} sheet */
export function flowFigures({ state, say, close }) {
  const counted = state.counted ?? {};
  const shown = (/** @type {any} */ figure) =>
    typeof figure === "object"
      ? Object.entries(figure)
          .map(([name, count]) => `${name} (${count})`)
          .join(say("and_then")) || "–"
      : figure.toLocaleString(state.view.lang);
  const line = (/** @type {string} */ name) =>
    html`<div><dt>${say(`count_${name}`)}</dt><dd>${name === "cost" ? roughly(counted.cost) : shown(counted[name])}</dd></div>`;
  return html`${bar(say("cmd_count_flow"), say, close)}<dl class="counted">${Object.keys(counted)
    .filter((name) => name !== "unpriced" || counted.unpriced)
    .map(line)}</dl>`;
}
