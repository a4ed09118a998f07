// The sheet of a race: who tries what; then a lane for each try while they work; at the end what came of them.

import { bar } from "../dialogs/bar.js";
import { html, nothing } from "../lib/lit.js";
import { entry } from "./entry.js";
import { lanes, triesOfNodes } from "./lanes.js";
import { triedFiles } from "./tried_files.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Race } from "../state/race.js" */
/** @import { RaceActions } from "./actions.js" */

/** @param {Sheet} sheet */
export function racing(sheet) {
  const { state, say, actions, close } = sheet;
  const { race, tried } = state;
  const { races } = actions;
  if (!race && !tried) return html`${bar(say("race"), say, close)} ${entry(sheet)}`;
  const ids = race ? race.tries.flatMap((each) => each.nodeId ?? []) : (tried?.ids ?? []);
  if (race && ids.length > 1 && tried?.ids.join() !== ids.join()) races.compareOnce(ids);
  const isOver = !race || race.isOver;
  const again = html`<button type="button" class="small" @click=${races.another}>${say("race_another")}</button>`;
  const tries = race ? race.tries : triesOfNodes(sheet);
  const numbers = (tried?.ids ?? []).map((id) => tries.find((each) => each.nodeId === id)?.number ?? 0);
  return html`${bar(say(race ? "race" : "cmd_tries"), say, close, race ? (isOver ? again : counted(race, say, races)) : nothing)}
    ${race ? html`<p class="task">${race.prompt}</p>` : nothing}
    ${(race?.remarks ?? []).map((text) => html`<p class="hint">${text}</p>`)}
    ${lanes(tries, sheet)}
    ${race?.opinion ? html`<h3>${say("race_opinion")}</h3><p class="opinion">${race.opinion}</p>` : nothing}
    ${tried && tried.ids.length > 1 ? triedFiles(tried, numbers, say, isOver ? races.take : null) : nothing}`;
}

/** @param {Race} race @param {Say} say @param {RaceActions} races */
function counted(race, say, { stop }) {
  const done = race.tries.filter((each) => each.status).length;
  return html`<span role="status" class="hint">${say("race_done", { done, count: race.tries.length })}</span>
    <button type="button" class="small" @click=${() => stop(race.traceId)}>${say("race_stop_all")}</button>`;
}
