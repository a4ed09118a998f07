// Two turns side by side: prompts and answers block by block, so that both are scrolled as one, the words in which they
// differ marked; how their files differ; and at the foot what to make of it.

import { bar } from "../dialogs/bar.js";
import { dollars } from "../figures/measures.js";
import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { partingOf } from "../state/topology.js";
import { fileList } from "./file_list.js";
import { markedTexts, sideBySide } from "./side_by_side.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Body, State } from "../state/state.js" */
/** @import { BlockPair } from "./side_by_side.js" */
/** @typedef {{ of: string, prompts: [HTMLElement, HTMLElement], pairs: BlockPair[] | null }} Compared */

const SIDES = ["one", "other"];
const SIGNS = ["−", "+"];

/** @param {Sheet} sheet */
export function comparing(sheet) {
  const { state, say, actions, close } = sheet;
  if (!state.compared) return nothing;
  const { ids, files } = state.compared;
  const { loading, selectors } = actions;
  loading.bodies(ids);
  const parting = partingOf(selectors.topology(state), ids[0], ids[1]);
  loading.briefs([...ids, ...parting.ways.flat()].filter((id) => !state.briefs.has(id)));
  const common = parting.common ? say("parts_at", { title: titleOf(state, parting.common) }) : say("parts_nowhere");
  const bodies = ids.map((id) => state.bodies.get(id));
  const head = (/** @type {string} */ id, /** @type {number} */ side) =>
    html`<div class="side ${SIDES[side]}"><h3>${titleOf(state, id)}</h3>${way(state, parting.ways[side])}<p class="facts">${factsOf(bodies[side])}</p></div>`;
  return html`${bar(say("compare"), say, close)}
    <p class="hint">${common}</p>
    <div class="sides">
      <div class="pair heads">${ids.map(head)}</div>
      ${bodies[0] && bodies[1] ? answers(bodies[0], bodies[1], sheet) : html`<p class="hint">…</p>`}
    </div>
    ${state.project.root ? differences(ids, files, state, say) : nothing}
    ${foot(ids, sheet)}`;
}

/** @param {State} state @param {string} id */
function titleOf(state, id) {
  return state.briefs.get(id)?.title ?? "…";
}

// How it came from where the two part to here.
/** @param {State} state @param {string[]} ids */
function way(state, ids) {
  if (ids.length < 2) return nothing;
  return html`<ol class="way">${ids.slice(0, -1).map((each) => html`<li>${titleOf(state, each)}</li>`)}</ol>`;
}

/** @param {Body | undefined} body */
function factsOf(body) {
  const { model, usage } = body ?? { model: "", usage: null };
  const tokens = usage ? `↑${usage.input} ↓${usage.output}` : "";
  return [model, tokens, usage?.cost ? dollars(usage.cost) : ""].filter(Boolean).join(" · ");
}

/** @param {Body} one @param {Body} other @param {Sheet} sheet */
function answers(one, other, { say, kept, redraw }) {
  const of = JSON.stringify([one.id, other.id, one.response.length, other.response.length, say("copy")]);
  if (kept.compared?.of !== of) {
    /** @type {Compared} */
    const compared = { of, prompts: markedTexts(one.prompt, other.prompt), pairs: null };
    kept.compared = compared;
    const ticks = { done: say("task_done"), todo: say("task_todo") };
    sideBySide(one.response, other.response, { copy: say("copy"), copied: say("copied"), ...ticks }).then((pairs) => {
      compared.pairs = pairs;
      redraw();
    });
  }
  const { prompts, pairs } = kept.compared;
  const asked = (/** @type {HTMLElement} */ text, /** @type {number} */ side) =>
    html`<div class="side ${SIDES[side]} prompt">${text}</div>`;
  return html`<div class="pair">${prompts.map(asked)}</div>
    ${one.response === other.response ? html`<p class="hint">${say("said_alike")}</p>` : nothing}
    ${(pairs ?? []).map((pair) => pairOf(pair, say))}`;
}

/** @param {BlockPair} pair @param {Say} say */
function pairOf({ left, right, alike }, say) {
  const alone = !left || !right;
  const one = (/** @type {HTMLElement | null} */ block, /** @type {number} */ side) =>
    html`<div class="side text ${SIDES[side]}">${block && alone ? html`<span class="hidden">${say("only_here")}</span>` : nothing}${block}</div>`;
  return html`<div class="pair ${alike ? "alike" : "apart"}">${[left, right].map(one)}</div>`;
}

// Whose lines have which sign, and how the files differ.
/** @param {string[]} ids @param {import("../state/state.js").FileDifference[]} files @param {State} state @param {Say} say */
function differences(ids, files, state, say) {
  const side = (/** @type {string} */ id, /** @type {number} */ place) =>
    html`<span class=${SIDES[place]}><b>${SIGNS[place]}</b>${titleOf(state, id)}</span>`;
  return html`<h3>${say("files_differ")}</h3>
    ${files.length ? html`<p class="signs">${ids.map(side)}</p>${fileList(files, say, state.project)}` : html`<p>${say("files_alike")}</p>`}`;
}

/** @param {string[]} ids @param {Sheet} sheet */
function foot(ids, { state, say, actions, close }) {
  const after = (/** @type {() => void} */ act) => () => {
    close();
    act();
  };
  const pick = (/** @type {string} */ id) =>
    html`<button type="button" class="primary" data-tip=${say("pick_winner_hint")} @click=${after(() => actions.files.pickWinner(id))}>${icon("trophy")}${say("pick_winner")}</button>`;
  const side = (/** @type {string} */ id, /** @type {number} */ place) =>
    html`<div class="side ${SIDES[place]}" role="group" aria-label=${`${say(`side_${SIDES[place]}`)}: ${titleOf(state, id)}`}>
      ${state.project.root ? pick(id) : nothing}
      <button type="button" @click=${after(() => actions.choosing.open(id))}>${icon("arrow-right")}${say("continue_here")}</button>
    </div>`;
  const both = html`<button type="button" class="both" data-tip=${say("merge_both_hint")} @click=${after(() => actions.choosing.goTo(ids))}>${icon("git-merge")}${say("merge_both")}</button>`;
  return html`<div class="pair foot">${side(ids[0], 0)}${both}${side(ids[1], 1)}</div>`;
}
