// What is asked before a turn, a branch or a flow is changed, and what a flow comes to.

import { bar } from "../dialogs/bar.js";
import { fieldOf } from "../lib/dom.js";
import { html } from "../lib/lit.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */

// A turn corrected where it stands: nothing is asked of a model.
/** @param {Sheet} sheet */
export function editTurn({ state, say, actions: { edits }, close }) {
  const id = state.selected ?? "";
  const body = state.bodies.get(id);
  const submit = (/** @type {Event} */ event) => {
    const form = /** @type {HTMLFormElement} */ (event.target);
    const text = (/** @type {string} */ name) =>
      /** @type {HTMLTextAreaElement} */ (form.elements.namedItem(name)).value;
    const tags = fieldOf(event, "tags").split(",");
    const fields = { prompt: text("prompt"), response: text("response"), summary: text("summary") };
    const known = /** @type {Record<string, any>} */ (body ?? {});
    const changed = Object.fromEntries(Object.entries(fields).filter(([name, now]) => now !== (known[name] ?? "")));
    const cleaned = tags.map((tag) => tag.trim()).filter(Boolean);
    close();
    const others = cleaned.join() === (body?.tags ?? []).join() ? {} : { tags: cleaned };
    if (Object.keys({ ...changed, ...others }).length) edits.correct(id, { ...changed, ...others });
  };
  const area = (/** @type {string} */ name, /** @type {string} */ label, /** @type {number} */ rows) =>
    html`<label>${label}<textarea name=${name} rows=${rows} .value=${body?.[name] ?? ""}></textarea></label>`;
  return html`${bar(say("cmd_edit_turn"), say, close)}
    <form class="fields" @submit=${submit}>
      ${area("prompt", say("field_prompt"), 4)}${area("response", say("answer"), 8)}${area("summary", say("summary"), 2)}
      <label>${say("tags")}<input name="tags" type="text" autocomplete="off" .value=${(body?.tags ?? []).join(", ")}></label>
      <button type="submit" class="primary">${say("save")}</button>
    </form>`;
}

/** @param {Sheet} sheet */
export function moveBranch({ state, say, actions: { edits }, close }) {
  const others = state.flows.filter((flow) => flow.id !== state.flow.id);
  const submit = (/** @type {Event} */ event) => {
    const form = /** @type {HTMLFormElement} */ (event.target);
    const copy = /** @type {HTMLInputElement} */ (form.elements.namedItem("copy")).checked;
    const to = fieldOf(event, "to");
    close();
    if (state.selected) edits.moveBranch(state.selected, to, copy);
  };
  return html`${bar(say("cmd_move_branch"), say, close)}
    <form class="fields" @submit=${submit}>
      <label>${say("move_to")}<select name="to">${others.map((flow) => html`<option value=${flow.id}>${flow.name}</option>`)}</select></label>
      <label class="check"><input name="copy" type="checkbox"> ${say("move_copy")}</label>
      <button type="submit" class="primary">${say("move_do")}</button>
    </form>`;
}

/** @param {Sheet} sheet */
export function nameBranch({ state, say, actions: { edits, choosing }, close }) {
  const submit = (/** @type {Event} */ event) => {
    const name = fieldOf(event, "name");
    const id = state.selected ?? "";
    const [parent] = choosing.parentsOf(id);
    close();
    if (parent) edits.nameBranch(parent, id, name);
  };
  return html`<h2 id="dialog-title">${say("cmd_name_branch")}</h2>
    <form @submit=${submit}>
      <input name="name" type="text" autocomplete="off" aria-label=${say("branch_name")} .value=${state.flow.branches?.[state.selected ?? ""] ?? ""}>
      <button type="submit" class="primary">${say("save")}</button>
    </form>`;
}

/** @param {Sheet} sheet */
export function deleteFlow({ state, say, actions: { edits, loading }, close }) {
  const agree = async () => {
    close();
    const others = state.flows.filter((flow) => flow.id !== state.flow.id);
    const next = (others.find((flow) => !flow.archived) ?? others[0])?.id ?? "main";
    if (await edits.deleteFlow()) loading.chooseFlow(next);
  };
  return html`<h2 id="dialog-title">${say("cmd_delete_flow")}</h2>
    <p>${say("ask_delete_flow", { name: state.flow.name })}</p>
    <button type="button" class="primary" @click=${agree}>${say("yes")}</button> <button type="button" @click=${close}>${say("no")}</button>`;
}

/** @param {Sheet} sheet */
export function flowFigures({ state, say, close }) {
  const counted = state.counted ?? {};
  const shown = (/** @type {any} */ figure) =>
    typeof figure === "object"
      ? Object.entries(figure)
          .map(([name, count]) => `${name} ${count}`)
          .join(", ") || "–"
      : figure;
  const line = (/** @type {string} */ name) =>
    html`<div><dt>${say(`count_${name}`)}</dt><dd>${name === "cost" ? `$${counted.cost.toFixed(2)}` : shown(counted[name])}</dd></div>`;
  return html`${bar(say("cmd_count_flow"), say, close)}<dl class="counted">${Object.keys(counted).map(line)}</dl>`;
}
