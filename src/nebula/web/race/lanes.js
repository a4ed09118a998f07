// The tries side by side, while they work and afterwards: what each did and says; two that ended are compared by two presses.

import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { answerOf } from "../transcript/turn_parts.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Try } from "../state/race.js" */
/** @typedef {Pick<Try, "number" | "model" | "status" | "doing" | "did" | "said" | "nodeId" | "rounds" | "tokens" | "stopping" | "traceId">} Lane */

const MOST_SHOWN = 6;

/** @param {Lane[]} tries @param {Sheet} sheet */
export function lanes(tries, sheet) {
  return html`<ul class="tries">${tries.map((each) => lane(each, sheet))}</ul>`;
}

/** @param {Lane} each @param {Sheet} sheet */
function lane(each, { state, say, actions, kept, redraw }) {
  const { number, status, doing, stopping, traceId } = each;
  const atWork = Boolean(state.race && !state.race.isOver);
  const now = status ? ended(status, say) : atWork ? doing || say("race_asking") : "";
  const stop = html`<button type="button" class="small" aria-label=${say("race_stop_one", { number })} ?disabled=${stopping || status !== ""} @click=${() => actions.races.stop(traceId)}>${say(stopping ? "stopping" : "stop")}</button>`;
  const ticks = { done: say("task_done"), todo: say("task_todo") };
  const labels = { copy: say("copy"), copied: say("copied"), ...ticks };
  return html`<li class=${status || !atWork ? "over" : "at-work"}>
    <div class="head"><b>${say("race_try")} ${number}</b><span class="model">${each.model}</span>${atWork ? stop : nothing}</div>
    <p class="doing">${now}</p>
    ${each.did.length > 1 ? steps(each, say) : nothing}
    ${each.said ? html`<div class="said">${answerOf(each, each.said, labels)}</div>` : nothing}
    ${each.rounds ? html`<p class="facts">${say("race_figures", { rounds: each.rounds, tokens: each.tokens })}</p>` : nothing}
    ${each.nodeId ? comparer(each.nodeId, kept, say, actions.files.compare, redraw) : nothing}
  </li>`;
}

/** @param {Lane} lane @param {Say} say */
function steps({ did, number }, say) {
  return html`<ol class="did" aria-label=${say("lane_did", { number })}>${did.slice(-MOST_SHOWN).map((step) => html`<li>${step}</li>`)}</ol>`;
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
  actions.loading.bodies(tries.map((each) => each.node_id).filter((id) => !state.bodies.has(id)));
  return tries.map((each) => {
    const said = state.bodies.get(each.node_id)?.response ?? "";
    const known = made.get(each);
    if (known?.said === said) return known;
    const none = { status: "", doing: "", did: [], rounds: 0, tokens: 0, stopping: false, traceId: "" };
    const found = { ...none, number: each.try, model: each.model, nodeId: each.node_id, said };
    made.set(each, found);
    return found;
  });
}

/** @param {string} status @param {Say} say */
export function ended(status, say) {
  return ["ok", "error", "interrupted", "limit", "refused"].includes(status) ? say(`ended_${status}`) : status;
}
