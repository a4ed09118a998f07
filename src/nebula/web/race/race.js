// The sheet of a race: what to try and by whom; then a line for each try while they work; at the end what came of them.

import { bar } from "../dialogs/bar.js";
import { dollars } from "../figures/measures.js";
import { html, nothing } from "../lib/lit.js";
import { ended, lanes, triesOfNodes } from "./lanes.js";
import { triedFiles } from "./tried_files.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Race, Try } from "../state/race.js" */
/** @import { RaceActions } from "./actions.js" */

const MOST = 8;

/** @param {Sheet} sheet */
export function racing(sheet) {
  const { state, say, actions, close } = sheet;
  const { race, tried } = state;
  const { races } = actions;
  if (!race && !tried) return html`${bar(say("race"), say, close)} ${form(sheet)}`;
  const ids = race ? race.tries.flatMap((each) => each.nodeId ?? []) : (tried?.ids ?? []);
  if (race && ids.length > 1 && tried?.ids.join() !== ids.join()) races.compareOnce(ids);
  const isOver = !race || race.isOver;
  const again = html`<button type="button" @click=${races.another}>${say("race_another")}</button>`;
  const rows = race ? race.tries.map(rowOfTry) : (tried?.tries ?? []).map(rowOfNode);
  const numbers = (tried?.ids ?? []).map((id) => rows.find((row) => row.nodeId === id)?.number ?? 0);
  return html`${bar(say(race ? "race" : "cmd_tries"), say, close, race?.isOver ? again : nothing)}
    ${race ? html`<p class="task">${race.prompt}</p>` : nothing}
    ${isOver ? table(rows, say, races) : counted(race, say, races)}
    ${race?.opinion ? html`<h3>${say("race_opinion")}</h3><p class="opinion">${race.opinion}</p>` : nothing}
    ${(race?.remarks ?? []).map((text) => html`<p class="hint">${text}</p>`)}
    ${lanes(race ? race.tries : triesOfNodes(sheet), sheet)}
    ${isOver ? html`<p role="status" class="hint">${state.notice}</p>` : nothing}
    ${tried && tried.ids.length > 1 ? triedFiles(tried, numbers, say, isOver ? races.take : null) : nothing}`;
}

/** @param {Sheet} sheet */
function form({ state, say, actions: { races } }) {
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const fields = new FormData(/** @type {HTMLFormElement} */ (event.target));
    const models = fields.getAll("model").map(String);
    const prompt = String(fields.get("prompt") ?? "").trim();
    if (!prompt) return;
    const entrants = models.length ? { models } : { tries: Number(fields.get("tries")) };
    races.start(prompt, entrants, String(fields.get("judge") ?? ""));
  };
  const model = (/** @type {string} */ name) =>
    html`<label class="check"><input type="checkbox" name="model" value=${name}> ${name}</label>`;
  const judge = (/** @type {string} */ name) => html`<option value=${name}>${name}</option>`;
  return html`<form class="race" @submit=${submit}>
    <label>${say("race_task")}<textarea name="prompt" rows="4" required .value=${state.racing.prompt}></textarea></label>
    <label>${say("race_tries")} <input type="number" name="tries" min="2" max=${MOST} value="3" required></label>
    <fieldset ?hidden=${!state.models.length}><legend>${say("race_models")}</legend>${state.models.map(model)}</fieldset>
    <label>${say("race_judge")} <select name="judge"><option value="">${say("race_nobody")}</option>${state.models.map(judge)}</select></label>
    <p class="hint">${say("race_hint")}</p>
    <button type="submit" class="primary" ?disabled=${state.status !== "open"}>${say("race_start")}</button>
  </form>`;
}

/** @param {Race} race @param {Say} say @param {RaceActions} races */
function counted(race, say, { stop }) {
  const done = race.tries.filter((each) => each.status).length;
  return html`<p role="status">${say("race_done", { done, count: race.tries.length })}
    <button type="button" class="small" @click=${() => stop(race.traceId)}>${say("race_stop_all")}</button></p>`;
}

/**
 * @typedef {object} ResultRow
 * @property {number} number
 * @property {string | null} nodeId
 * @property {string} model
 * @property {string} status
 * @property {boolean | null} verified
 * @property {number} files
 * @property {string} lines
 * @property {string} rounds
 * @property {string} seconds
 * @property {number | null} cost
 */

/** @param {Try} each @returns {ResultRow} */
function rowOfTry({ number, nodeId, model, status, verified, files, rounds, seconds, cost }) {
  const sum = (/** @type {"added" | "removed"} */ name) => files.reduce((all, file) => all + file[name], 0);
  return {
    ...{ number, nodeId, model, status, verified, cost },
    files: files.length,
    lines: `+${sum("added")} −${sum("removed")}`,
    rounds: String(rounds),
    seconds: seconds === null ? "–" : seconds.toFixed(1),
  };
}

/** @param {any} node @returns {ResultRow} */
function rowOfNode({ try: number, node_id: nodeId, model, verified, files_changed: files, cost }) {
  return { number, nodeId, model, status: "", verified, files, lines: "–", rounds: "–", seconds: "–", cost };
}

/** @param {ResultRow[]} rows @param {Say} say @param {RaceActions} races */
function table(rows, say, { take }) {
  const heads = ["model", "ended", "checks", "files", "lines", "rounds", "seconds", "cost"];
  const row = (/** @type {ResultRow} */ each) => {
    const checks = each.verified === null ? "–" : say(each.verified ? "checks_passed" : "checks_failed");
    const { nodeId } = each;
    const button =
      nodeId && each.files
        ? html`<button type="button" class="small primary" @click=${() => take(nodeId)}>${say("race_take", { number: each.number })}</button>`
        : nothing;
    return html`<tr><th scope="row">${each.number}</th><td>${each.model}</td><td>${each.status ? ended(each.status, say) : "–"}</td><td>${checks}</td><td>${each.files}</td><td>${each.lines}</td><td>${each.rounds}</td><td>${each.seconds}</td><td>${each.cost === null ? "–" : dollars(each.cost)}</td><td>${button}</td></tr>`;
  };
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${say("race_table")}><table class="results">
    <thead><tr><th scope="col">${say("race_try")}</th>${heads.map((name) => html`<th scope="col">${say(`race_col_${name}`)}</th>`)}<td></td></tr></thead>
    <tbody>${rows.map(row)}</tbody>
  </table></div>`;
}
