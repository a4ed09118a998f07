// A turn corrected where it stands: its prompt, answer, summary and tags become fields. Nothing is asked of a model.

import { html } from "../lib/lit.js";

/** @import { Edits } from "../graph/edits.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Body } from "../state/state.js" */
/** @typedef {Record<"prompt" | "response" | "summary" | "tags", string>} Fields */

// What was typed stays until it is saved or given up, wherever the reader goes meanwhile.
/** @type {Map<string, Fields>} */
const typed = new Map();
/** @type {Set<string>} */
const saving = new Set();

/** @param {Body} body @returns {Fields} */
const fieldsOf = ({ prompt = "", response = "", summary = "", tags = [] }) => ({
  prompt,
  response,
  summary,
  tags: tags.join(", "),
});

/** @param {Body} body @param {Say} say @param {Pick<Edits, "correct" | "edit">} edits */
export function correcting(body, say, edits) {
  const { id } = body;
  const now = typed.get(id) ?? fieldsOf(body);
  const leave = () => {
    typed.delete(id);
    edits.edit("");
  };
  const keep = (/** @type {Event} */ { currentTarget }) => {
    const given = new FormData(/** @type {HTMLFormElement} */ (currentTarget));
    typed.set(id, /** @type {Fields} */ (Object.fromEntries(given)));
  };
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const changed = changes(body, typed.get(id) ?? now);
    if (saving.has(id)) return;
    saving.add(id);
    const isSaved = !Object.keys(changed).length || (await edits.correct(id, changed));
    saving.delete(id);
    if (isSaved) leave();
  };
  const onkey = (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") leave();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
      /** @type {HTMLFormElement} */ (event.currentTarget).requestSubmit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<form class="correcting" aria-label=${say("cmd_edit_turn")} @input=${keep} @submit=${submit} @keydown=${onkey}>
    <div class="prompt"><textarea class="text" name="prompt" rows="1" aria-label=${say("field_prompt")} .value=${now.prompt}></textarea></div>
    <textarea name="response" rows="3" aria-label=${say("answer")} placeholder=${say("answer")} .value=${now.response}></textarea>
    <label><span>${say("summary")}</span><textarea name="summary" rows="1" .value=${now.summary}></textarea></label>
    <label><span>${say("tags")}</span><input name="tags" type="text" autocomplete="off" .value=${now.tags}></label>
    <div class="ends"><kbd aria-hidden="true">ctrl+enter</kbd><button type="button" @click=${leave}>${say("cancel")}</button><button type="submit" class="primary">${say("save")}</button></div>
  </form>`;
}

/** @param {Body} body @param {Fields} now */
function changes(body, now) {
  const before = fieldsOf(body);
  /** @type {Record<string, any>} */
  const changed = {};
  for (const name of /** @type {(keyof Fields)[]} */ (Object.keys(before)))
    if (now[name] !== before[name]) changed[name] = now[name];
  if ("tags" in changed)
    changed.tags = now.tags
      .split(/[,、]/)
      .map((tag) => tag.trim())
      .filter(Boolean);
  return changed;
}
