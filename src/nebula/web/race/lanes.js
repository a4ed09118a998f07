// The tries side by side, while they work and afterwards: what each did and says, what it came to, and what to make of it;
// two that ended are compared by two presses.

import { dollars } from "../figures/measures.js";
import { counts } from "../files/file_list.js";
import { told } from "../lib/deeds.js";
import { icon, iconButton } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { answerOf } from "../transcript/turn_parts.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */
/** @import { IconName } from "../lib/icon.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Try } from "../state/race.js" */
/** @typedef {Pick<Try, "number" | "model" | "status" | "did" | "said" | "nodeId" | "rounds" | "tokens" | "stopping" | "traceId" | "verified" | "cost" | "seconds" | "files"> & { changed?: number }} Lane `changed`: how many files, where they are not named. */

const MOST_SHOWN = 6;
/** @type {Record<string, IconName>} */
const SIGNS = { ok: "circle-check", interrupted: "square" };

/** @param {Lane[]} tries @param {Sheet} sheet */
export function lanes(tries, sheet) {
  return html`<ul class="tries">${tries.map((each) => lane(each, sheet))}</ul>`;
}

/** @param {Lane} each @param {Sheet} sheet */
function lane(each, sheet) {
  const { state, say, actions } = sheet;
  const { number, status, did, stopping, traceId } = each;
  const isOver = !state.race || state.race.isOver;
  const works = !isOver && !status;
  const stop = () => actions.races.stop(traceId);
  const ticks = { done: say("task_done"), todo: say("task_todo") };
  const labels = { copy: say("copy"), copied: say("copied"), ...ticks };
  const now = html`<p class="doing">${icon("loader-circle")}<span>${stopping ? say("stopping") : did.length ? told(did[did.length - 1], say) : say("race_asking")}</span></p>`;
  return html`<li class=${works ? "at-work" : "over"}>
    <div class="head"><b>${say("race_try")} ${number}</b><span class="model">${each.model}</span>${status ? ending(status, say) : nothing}${works ? iconButton("square", say("race_stop_one", { number }), stop, { kind: "stop", disabled: stopping }) : nothing}</div>
    ${works ? now : nothing}
    ${steps(number, works ? did.slice(0, -1) : did, say)}
    ${each.said ? html`<div class="said">${answerOf(each, each.said, labels)}</div>` : nothing}
    <div class="foot">${facts(each, say)}${choices(each, isOver, sheet)}</div>
  </li>`;
}

/** @param {string} status @param {Say} say */
function ending(status, say) {
  const known = ["ok", "error", "interrupted", "limit", "refused"].includes(status);
  return html`<span class="ended ${status}">${icon(SIGNS[status] ?? "circle-alert")}${known ? say(`ended_${status}`) : status}</span>`;
}

// What it came to, in the order in which tries are weighed: checks, changes, then what it took.
/** @param {Lane} lane @param {Say} say */
function facts({ verified, files, changed, rounds, tokens, seconds, cost, status }, say) {
  const sum = (/** @type {"added" | "removed"} */ name) => files.reduce((all, file) => all + file[name], 0);
  const count = changed ?? files.length;
  const took = [
    rounds ? say("race_figures", { rounds, tokens }) : "",
    seconds === null ? "" : say("seconds", { seconds: seconds.toFixed(1) }),
    cost === null ? "" : dollars(cost),
  ];
  const checks =
    verified === null
      ? nothing
      : html`<span class=${verified ? "passed" : "failed"}>${icon(verified ? "circle-check" : "circle-alert")}${say(verified ? "checks_passed" : "checks_failed")}</span>`;
  const lines = files.length ? counts({ added: sum("added"), removed: sum("removed") }) : nothing;
  const touched = status || count ? html`<span>${say("race_files_count", { count })} ${lines}</span>` : nothing;
  return html`<p class="facts">${checks}${touched}<span>${took.filter(Boolean).join(" · ")}</span></p>`;
}

/** @param {Lane} lane @param {boolean} isOver @param {Sheet} sheet */
function choices({ nodeId, number, files, changed }, isOver, { say, actions, kept, redraw }) {
  if (!nodeId) return nothing;
  const take = html`<button type="button" class="small primary" @click=${() => actions.races.take(nodeId)}>${say("race_take", { number })}</button>`;
  return html`<p>${isOver && (changed ?? files.length) ? take : nothing}${comparer(nodeId, kept, say, actions.files.compare, redraw)}</p>`;
}

/** @param {number} number @param {Lane["did"]} did @param {Say} say */
function steps(number, did, say) {
  if (!did.length) return nothing;
  return html`<ol class="did" aria-label=${say("lane_did", { number })}>${did.slice(-MOST_SHOWN).map((each) => html`<li>${told(each, say)}</li>`)}</ol>`;
}

// The first press chooses one, the second, on another, opens the two of them.
/** @param {string} id @param {Sheet["kept"]} kept @param {Say} say @param {(ids: string[]) => unknown} compare @param {() => void} redraw */
function comparer(id, kept, say, compare, redraw) {
  const chosen = kept.picked === id;
  const press = () => {
    if (kept.picked && !chosen) {
      compare([kept.picked, id]);
      return;
    }
    kept.picked = chosen ? "" : id;
    redraw();
  };
  return html`<button type="button" class="small quiet" aria-pressed=${chosen ? "true" : "false"} @click=${press}>${icon("columns-2")}${say(chosen ? "lane_picked" : "lane_pick")}</button>`;
}

// Turns that were made side by side, whenever that was.
/** @type {WeakMap<object, Lane>} So that what is drawn for one is kept with it. */
const made = new WeakMap();
/** @param {Sheet} sheet @returns {Lane[]} */
export function triesOfNodes({ state, actions }) {
  const tries = state.tried?.tries ?? [];
  actions.loading.bodies(tries.map((each) => each.node_id));
  return tries.map((each) => {
    const said = state.bodies.get(each.node_id)?.response ?? "";
    const known = made.get(each);
    if (known?.said === said) return known;
    const none = { status: "", did: [], rounds: 0, tokens: 0, stopping: false, traceId: "", seconds: null };
    const { try: number, model, node_id: nodeId, verified, cost, files_changed: changed } = each;
    const found = { ...none, number, model, nodeId, said, verified, cost, changed, files: [] };
    made.set(each, found);
    return found;
  });
}
