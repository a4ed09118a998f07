// Before a race: the prompt in a box like that of the conversation, and below it the tries as they will stand, each with who
// answers it.

import { valueOf } from "../lib/dom.js";
import { icon, iconButton } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */

const [FEWEST, MOST] = [2, 8];

/** @param {Sheet} sheet */
export function entry({ state, say, actions: { races }, kept, redraw }) {
  const { models, project } = state;
  const { entrants } = kept;
  const set = (/** @type {string[]} */ next) => {
    kept.entrants = next;
    redraw();
  };
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const fields = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const prompt = String(fields.get("prompt") ?? "").trim();
    const plain = entrants.every((model) => !model);
    const named = entrants.map((model) => model || state.current || project.model);
    if (prompt) races.start(prompt, plain ? { tries: named.length } : { models: named }, String(fields.get("judge")));
  };
  const option = (/** @type {string} */ chosen) => (/** @type {string} */ name) =>
    html`<option value=${name} .selected=${name === chosen}>${name}</option>`;
  const one = (/** @type {string} */ model, /** @type {number} */ place) => {
    const number = place + 1;
    const choose = (/** @type {Event} */ event) => set(entrants.with(place, valueOf(event)));
    const without = iconButton("x", say("race_remove", { number }), () => set(entrants.toSpliced(place, 1)));
    return html`<li>
      <span class="number">${say("race_try")} ${number}</span>${entrants.length > FEWEST ? without : nothing}
      <select aria-label=${say("race_model", { number })} @change=${choose}><option value="" .selected=${!model}>${project.model || say("model")}</option>${models.filter((name) => name !== state.current).map(option(model))}</select>
    </li>`;
  };
  const more = html`<li class="add"><button type="button" class="quiet" @click=${() => set([...entrants, entrants[entrants.length - 1]])}>${icon("plus")}${say("race_add")}</button></li>`;
  return html`<form class="race" @submit=${submit}>
    <div class="box">
      <textarea name="prompt" rows="2" required aria-label=${say("race_task")} placeholder=${say("race_task_hint")} .value=${state.racing.prompt}></textarea>
      <label class="judge" data-tip=${say("race_judge_hint")}>${icon("trophy")}<select name="judge" aria-label=${say("race_judge")}><option value="">${say("race_nobody")}</option>${models.map(option(""))}</select></label>
      <button type="submit" class="primary" ?disabled=${state.status !== "open"}>${icon("flag")}${say("race_start", { count: entrants.length })}</button>
    </div>
    <ol class="entrants">${entrants.map(one)}${entrants.length < MOST ? more : nothing}</ol>
    <p class="hint">${say("race_hint")}</p>
  </form>`;
}
