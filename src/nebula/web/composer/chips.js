// What the prompt continues, what is shown beside it, and what is attached: each can be taken off again.

import { icon } from "../lib/icon.js";
import { guard, html, nothing, repeat } from "../lib/lit.js";
import { continuing, steerable } from "../state/here.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { Looking } from "../app/looking.js" */
/** @import { FileActions } from "../files/actions.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { PermissionActions } from "../permissions/actions.js" */
/** @import { RaceActions } from "../race/actions.js" */
/** @import { Loading } from "../server/loading.js" */
/** @import { State } from "../state/state.js" */
/** @import { TurnActions } from "../transcript/actions.js" */
/** @import { ComposingActions } from "./actions.js" */
/** @import { Attached } from "./composing.js" */
/**
 * @typedef {object} ChipActions
 * @property {ComposingActions} composing
 * @property {Choosing} choosing
 * @property {Looking} looking
 * @property {Pick<FileActions, "compare" | "find">} files
 * @property {Pick<PermissionActions, "show" | "typed">} permissions
 * @property {Pick<RaceActions, "show">} races
 * @property {TurnActions} turns
 * @property {Loading} loading
 * @property {() => void} start
 * @property {() => void} [write] Goes to the prompt once there is something to merge.
 */

/** @param {State} state @param {Say} say @param {ChipActions} actions */
export function chips(state, say, actions) {
  const { references } = state.composing;
  const { unrefer } = actions.composing;
  const title = (/** @type {string} */ id) => state.briefs.get(id)?.title || "…";
  actions.loading.briefs(references.filter((id) => !state.briefs.has(id)));
  const reference = (/** @type {string} */ id) =>
    chip(title(id), say("remove", { title: title(id) }), () => unrefer(id), "reference", icon("at-sign"));
  return html`${path(state, say, actions, title)}
    ${repeat(references, (id) => id, reference)}
    ${several(state, say, actions)}`;
}

// What goes along stands in the box itself, an image as it looks.
/** @param {State} state @param {Say} say @param {Pick<ComposingActions, "detach">} composing */
export function attachments({ composing: { attached } }, say, { detach }) {
  const small = (/** @type {Attached} */ { data }) =>
    html`<img alt="" src=${`data:image/png;base64,${data}`}>`; /* whatever its kind: a browser looks */
  const one = (/** @type {Attached} */ each, /** @type {number} */ place) => {
    const sign = each.image ? guard([each], () => small(each)) : icon("file");
    return chip(each.name, say("remove", { title: each.name }), () => detach(place), "attached", sign);
  };
  return attached.length ? html`<div class="files">${attached.map(one)}</div>` : nothing;
}

/** @param {string} name @param {string} label @param {() => void} drop @param {string} kind @param {any} sign @param {any} more */
function chip(name, label, drop, kind = "", sign = nothing, more = nothing) {
  return html`<span class="chip ${kind}">${sign}<span class="name">${name}</span>${more}<button type="button" aria-label=${label} data-tip=${label} @click=${drop}>${icon("x")}</button></span>`;
}

/** @param {State} state @param {Say} say @param {ChipActions} actions @param {(id: string) => string} title */
function path(state, say, { choosing, composing, turns, start }, title) {
  const from = continuing(state);
  if (steerable(state))
    return html`<span class="hint">${say("goes_into_turn")}</span>
      <button type="button" class="quiet small beside" data-tip=${say("beside_hint")} @click=${turns.beside}>${say("beside")}</button>`;
  if (!from.length) return html`<span class="hint">${say("starts_new")}</span>`;
  const drop = (/** @type {string} */ id) => () => (from.length > 1 ? choosing.toggle(id) : start());
  // A further turn is merged; it can be shown to the model as a reference instead.
  const beside = (/** @type {string} */ id) => {
    const label = say("as_reference", { title: title(id) });
    return html`<button type="button" data-tip=${label} aria-label=${label} @click=${() => composing.referInstead(id)}>${icon("at-sign")}</button>`;
  };
  const one = (/** @type {string} */ id, /** @type {number} */ place) =>
    chip(title(id), say("remove", { title: title(id) }), drop(id), "", nothing, place ? beside(id) : nothing);
  return html`<span class="hint">${say(from.length > 1 ? "merging" : "continuing")}</span>
    ${repeat(from, (id) => id, one)}`;
}

// What can be done with several turns at once.
/** @param {State} state @param {Say} say @param {ChipActions} actions */
function several(state, say, { choosing, files, looking, write }) {
  const from = continuing(state);
  const { selected, merging } = state;
  if (steerable(state) || selected === null) return nothing;
  if (from.length < 2 && merging.length) return html`<span class="hint" role="status">${say("merge_now")}</span>`;
  // Who points at the other turn next wants to write then. Keys go on from turn to turn.
  const merge = (/** @type {MouseEvent} */ event) => {
    choosing.merge(selected);
    const then = () => requestAnimationFrame(() => requestAnimationFrame(() => write?.()));
    if (event.detail) setTimeout(() => window.addEventListener("click", then, { once: true }));
  };
  if (from.length < 2)
    return html`<button type="button" class="quiet small" data-tip=${say("merge_hint")} @click=${merge}>${icon("git-merge")}${say("merge")}</button>`;
  const compare = html`<button type="button" class="quiet small" @click=${() => files.compare(from)}>${icon("columns-2")}${say("compare")}</button>`;
  return html`<span class="several" role="group" aria-label=${say("chosen", { count: from.length })}>
    ${from.length === 2 ? compare : nothing}
    <button type="button" class="quiet small" @click=${() => looking.look({ dialog: "delete" })}>${icon("trash")}${say("delete_several", { count: from.length })}</button>
    <button type="button" class="quiet small" @click=${choosing.unmergeAll}>${say("only_one")}</button>
  </span>`;
}
