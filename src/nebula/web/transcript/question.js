// An approval: what is to be written, and the answers. It stands in the transcript, below what was said.

import { diffOf } from "../lib/diff.js";
import { fieldOf } from "../lib/dom.js";
import { guard, html, nothing } from "../lib/lit.js";
import { hunksOf } from "./hunks.js";

/** @import { Say } from "../lib/words.js" */
/** @import { Change, Cue } from "../state/turn.js" */
/** @import { TurnActions } from "./actions.js" */
/** @typedef {Pick<TurnActions, "approve" | "stop">} Answering */

/** @param {Cue} ask @param {string} traceId @param {Say} say @param {Answering} turns */
export function question(ask, traceId, say, turns) {
  const id = ask.approval_id ?? "";
  const decide = (/** @type {string} */ decision) => () => turns.approve(id, decision);
  const refuse = (/** @type {Event} */ event) => {
    const reason = fieldOf(event, "reason");
    if (reason) turns.approve(id, reason);
  };
  return guard(
    [ask, say],
    () => html`<div class="question" role="group" aria-labelledby="question">
    <h2 tabindex="-1" id="question">${heading(ask, say)}</h2>
    <div class="subject">${subject(ask, say)}</div>
    <div class="answers">
      <button type="button" class="primary" @click=${(/** @type {Event} */ event) => agree(event, ask, turns)}>${say("yes")}</button>
      <button type="button" @click=${decide("no")}>${say("no")}</button>
      ${ask.once ? nothing : html`<button type="button" @click=${decide("all")}>${say("all")}</button>`}
      <button type="button" @click=${() => turns.stop(traceId)}>${say("stop")}</button>
      <form class="refuse" @submit=${refuse}>
        <input type="text" name="reason" placeholder=${say("reason")} aria-label=${say("reason")} autocomplete="off"><button type="submit">${say("refuse")}</button>
      </form>
    </div>
  </div>`,
  );
}

// Yes to what is ticked: all of it, some files or hunks, or after all nothing.
/** @param {Event} event @param {Cue} ask @param {Answering} turns */
function agree(event, ask, turns) {
  const id = ask.approval_id ?? "";
  const asked = /** @type {HTMLElement} */ (event.target).closest(".question");
  /** @type {HTMLInputElement[]} */
  const boxes = [...(asked?.querySelectorAll("input") ?? [])].filter((box) => box.type === "checkbox");
  const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
  if (chosen.length === boxes.length) turns.approve(id, "yes");
  else if (!chosen.length) turns.approve(id, "no");
  else turns.approve(id, "some", ask.changes ? { paths: chosen } : { hunks: chosen.map(Number) });
}

/** @param {Cue} ask @param {Say} say */
function heading(ask, say) {
  if (ask.network) return say("ask_network");
  if (ask.fetch) return say("ask_fetch");
  if (ask.folders) return say("ask_folders");
  if (ask.call) return say("ask_call", { tool: ask.tool });
  if (ask.read) return say("ask_read", { path: ask.path });
  return ask.changes ? say("ask_set", { count: ask.changes.length }) : say("ask_write", { path: ask.path });
}

// The command that asks, what the answer is about, and what has to be known besides.
/** @param {Cue} ask @param {Say} say */
function subject(ask, say) {
  const command = ask.command ? diffOf(ask.command, say("diff")) : nothing;
  return [command, about(ask, say), ...(ask.remarks ?? []).map((remark) => html`<p>${remark}</p>`)];
}

// What the answer is about: one diff, a set of them to choose from, or the command that asks for the network.
/** @param {Cue} ask @param {Say} say */
function about(ask, say) {
  if (ask.network) return diffOf(ask.network, say("diff"));
  if (ask.fetch) return diffOf(ask.fetch, say("diff"));
  if (ask.folders) return diffOf(ask.folders, say("diff"));
  if (ask.call) return diffOf(ask.call, say("diff"));
  if (ask.read) return nothing;
  const { changes } = ask;
  if (!changes) return hunks(ask.diff ?? "", say);
  const one = (
    /** @type {Change} */ change,
  ) => html`<div class="beside"><input type="checkbox" name="path" value=${change.path} checked aria-label=${say("take", { path: change.path })}><details ?open=${changes.length < 4}>
    <summary>${change.kind} ${change.renamed_from ? `${change.renamed_from} → ` : ""}${change.path} (+${change.added} −${change.removed})</summary>
    ${change.diff ? diffOf(change.diff, say("diff")) : nothing}
  </details></div>`;
  return changes.map(one);
}

// A change in several places is taken place by place.
/** @param {string} diff @param {Say} say */
function hunks(diff, say) {
  const found = hunksOf(diff);
  if (found.length < 2) return diffOf(diff, say("diff"));
  const one = (/** @type {string} */ text, /** @type {number} */ place) => {
    const label = say("take_hunk", { place: place + 1, count: found.length });
    return html`<div class="hunk"><label><input type="checkbox" name="hunk" value=${place + 1} checked> ${label}</label>${diffOf(text, label)}</div>`;
  };
  return found.map(one);
}
