// An approval as a review: which file, which lines, what changes in them; then one answer for what is ticked.

import { begunAnswer, keepAnswer } from "../app/preferences.js";
import { counts } from "../files/file_list.js";
import { nameProposal } from "../lib/deeds.js";
import { diffOf, hunkOf, placeOf, quoted } from "../lib/diff.js";
import { fieldOf, isEnter } from "../lib/dom.js";
import { countsOf, hunksOf } from "../lib/hunks.js";
import { icon, iconButton } from "../lib/icon.js";
import { guard, html, nothing } from "../lib/lit.js";
import { pathOf } from "../lib/path.js";

/** @import { Hunk } from "../lib/hunks.js" */
/** @import { IconName } from "../lib/icon.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Change, Cue } from "../state/turn.js" */
/** @import { TurnActions } from "./actions.js" */
/** @typedef {Pick<TurnActions, "approve" | "steer" | "stop">} Answering */

const MOST_KEYS = 9;
const MANY = 4; // to be ticked one by one

/** @typedef {ReturnType<typeof begunAnswer>} Draft What is not ticked, and the words that were not sent yet. */

/** @param {Cue} ask @param {string} traceId @param {Say} say @param {Answering} turns */
export function question(ask, traceId, say, turns) {
  const id = ask.approval_id ?? "";
  const refuse = (/** @type {Event} */ event) => {
    const reason = fieldOf(event, "reason");
    answer(event, id, turns.approve(id, reason || "no"));
  };
  const count = ask.changes ? ask.changes.length : hunksOf(ask.diff ?? "").length;
  const draft = begunAnswer(id); // it stays until it is given, wherever the reader goes meanwhile
  const keep = (/** @type {Event} */ event) => {
    const asked = /** @type {HTMLElement} */ (event.currentTarget);
    const off = boxesIn(asked).filter((box) => !box.checked);
    const reason = wordsIn(asked);
    keepAnswer(
      id,
      off.map((box) => box.value),
      reason,
    );
    const tell = (/** @type {string} */ place, /** @type {string} */ words) =>
      asked.querySelectorAll(place).forEach((each) => (each.textContent = words));
    tell(".agree span", agreement(ask, count - off.length, count, say));
    tell(".no span", refusal(ask, reason, say));
    tell(".all-of-them", say(off.length < count ? "tick_none" : "tick_all"));
  };
  const hint = say(asksLeave(ask) ? "reason_instead" : "reason");
  return guard(
    [ask, say],
    () => html`<div class="question" role="group" aria-labelledby="question" @input=${keep}>
    <div class="head"><h2 tabindex="-1" id="question">${heading(ask, say)}</h2>${count < MANY ? nothing : html`<button type="button" class="quiet small all-of-them" .textContent=${say(draft.off.size < count ? "tick_none" : "tick_all")} @click=${tickAll}></button>`}${iconButton("square", say("stop"), () => turns.stop(traceId), { kind: "stop" })}</div>
    <div class="subject">${subject(ask, draft, say)}</div>
    <div class="answers">
      <span class="split">
        <button type="button" class="primary agree" aria-keyshortcuts="y" @click=${(/** @type {Event} */ event) => agree(event, ask, traceId, turns)}><span .textContent=${agreement(ask, count - draft.off.size, count, say)}></span><kbd aria-hidden="true">y</kbd></button>
        ${ask.once ? nothing : always(say, (event) => answer(event, id, turns.approve(id, "all")))}
      </span>
      <form class="refuse" @submit=${refuse}>
        <textarea name="reason" rows="1" placeholder=${hint} aria-label=${hint} .value=${draft.reason} @keydown=${submitByEnter}></textarea>
        <button type="submit" class="no" aria-keyshortcuts="n"><span .textContent=${refusal(ask, draft.reason, say)}></span><kbd aria-hidden="true">n</kbd></button>
      </form>
    </div>
  </div>`,
  );
}

/** @param {Event} event */
function tickAll(event) {
  const boxes = boxesIn(questionOf(event));
  const on = !boxes.some((box) => box.checked);
  for (const box of boxes) box.checked = on;
  questionOf(event).dispatchEvent(new Event("input"));
}

/** @param {KeyboardEvent} event */
function submitByEnter(event) {
  if (!isEnter(event) || event.shiftKey) return;
  event.preventDefault();
  /** @type {HTMLTextAreaElement} */ (event.target).form?.requestSubmit();
}

// Whether something shall be allowed, and no change made.
/** @param {Cue} ask */
function asksLeave({ network, fetch, folders, secrets, call, read }) {
  return Boolean(network || fetch || folders || secrets || call || read);
}

/** @param {Cue} ask @param {string} reason @param {Say} say */
function refusal(ask, reason, say) {
  return say(reason.trim() && !asksLeave(ask) ? "no_but" : "no");
}

// What else a yes can mean.
/** @param {Say} say @param {(event: Event) => void} act */
function always(say, act) {
  return html`<button type="button" class="more" popovertarget="always" aria-label=${say("more_answers")} data-tip=${say("more_answers")}>${icon("chevron-down")}</button>
    <div class="menu" id="always" popover><button type="button" class="quiet" @click=${act}>${icon("check")}${say("all")}</button></div>`;
}

/** @param {Cue} ask @param {number} chosen @param {number} count @param {Say} say */
function agreement(ask, chosen, count, say) {
  if (asksLeave(ask)) return say("allow");
  if (count < 2) return say("apply");
  return chosen === count ? say("apply_all", { count }) : say("apply_some", { chosen, count });
}

/** @param {HTMLElement} asked */
function boxesIn(asked) {
  return [...asked.querySelectorAll("input")].filter((box) => box.type === "checkbox");
}

/** @param {HTMLElement} asked */
function wordsIn(asked) {
  return /** @type {HTMLTextAreaElement} */ (asked.querySelector(".refuse textarea")).value;
}

/** @param {Event} event */
function questionOf({ currentTarget }) {
  return /** @type {HTMLElement} */ (/** @type {HTMLElement} */ (currentTarget).closest(".question"));
}

// Yes to what is ticked: all of it, some files or hunks, or after all nothing. Words beside a yes go into the turn.
/** @param {Event} event @param {Cue} ask @param {string} traceId @param {Answering} turns */
function agree(event, ask, traceId, turns) {
  const id = ask.approval_id ?? "";
  const asked = questionOf(event);
  const words = wordsIn(asked).trim();
  const boxes = boxesIn(asked);
  const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
  const approve = () => {
    if (chosen.length === boxes.length) return turns.approve(id, "yes");
    return turns.approve(id, "some", ask.changes ? { paths: chosen } : { hunks: chosen.map(Number) });
  };
  const both = async () => (await turns.steer(traceId, words)) && approve();
  if (boxes.length && !chosen.length) answer(event, id, turns.approve(id, words || "no"));
  else answer(event, id, words ? both() : approve());
}

// Once is enough: until it was heard nothing more can be pressed.
/** @param {Event} event @param {string} id @param {Promise<boolean>} heard */
async function answer(event, id, heard) {
  const asked = questionOf(event);
  asked.ariaBusy = "true";
  if (await heard) keepAnswer(id, [], "");
  else asked.ariaBusy = null;
}

/** @param {Cue} ask @param {Say} say */
function heading(ask, say) {
  const titled = (/** @type {IconName} */ name, /** @type {string} */ words) =>
    html`${icon(name)}<span>${words}</span>`;
  if (ask.network) return titled("globe", say("ask_network"));
  if (ask.fetch) return titled("globe", say("ask_fetch"));
  if (ask.folders) return titled("folder", say("ask_folders"));
  if (ask.secrets) return titled("eye", say("ask_secrets"));
  if (ask.call) return titled("wrench", say("ask_call", { tool: ask.tool }));
  if (ask.read) return titled("eye", say("ask_read", { path: ask.path }));
  if (ask.changes) return titled(ask.tool === "take" ? "file-diff" : "terminal", nameProposal(ask, say));
  const [verb, rest] = say("ask_write", { path: "\0" }).split("\0");
  return html`${icon("file-diff")}<span>${verb}${pathOf(ask.path ?? "")}${rest}</span>${counts(countsOf(hunksOf(ask.diff ?? "")))}`;
}

// The command that asks, what the answer is about, and what has to be known besides.
/** @param {Cue} ask @param {Draft} draft @param {Say} say */
function subject(ask, draft, say) {
  const command = ask.command ? quoted(ask.command, say("diff")) : nothing;
  const remark = (/** @type {string} */ text) => html`<p class="known">${icon("circle-alert")}${text}</p>`;
  return [command, about(ask, draft, say), ...(ask.remarks ?? []).map(remark)];
}

// What the answer is about: one diff, a set of them to choose from, or the command that asks for the network.
/** @param {Cue} ask @param {Draft} draft @param {Say} say */
function about(ask, { off }, say) {
  const words = ask.network ?? ask.fetch ?? ask.folders ?? ask.secrets ?? ask.call;
  if (words) return quoted(words, say("diff"));
  if (ask.read) return nothing;
  if (ask.changes)
    return ask.changes.map((change, place, { length }) => file(change, place, length, !off.has(change.path), say));
  const hunks = hunksOf(ask.diff ?? "");
  if (hunks.length < 2) return diffOf(ask.diff ?? "", say, { path: ask.path });
  return hunks.map((hunk, place) => part(hunk, place, hunks.length, !off.has(String(place + 1)), ask.path ?? "", say));
}

/** @param {Change} change @param {number} place @param {number} count @param {boolean} ticked @param {Say} say */
function file(change, place, count, ticked, say) {
  const { path, kind, renamed_from: before, diff } = change;
  const sign = kind === "created" ? "file-plus" : kind === "deleted" ? "file-minus" : "file-diff";
  return html`<div class="part">
    <label class="tick"><input type="checkbox" name="path" value=${path} .checked=${ticked} aria-label=${say("take", { path })}></label>
    <details ?open=${count < 4}>
      <summary>${key(place)}${icon(sign)}<span class="kind">${say(`kind_${kind}`)}</span> ${before ? html`${pathOf(before)} → ` : nothing}${pathOf(path)}${counts(change)}</summary>
      ${diff ? diffOf(diff, say, { path }) : nothing}
    </details>
  </div>`;
}

// A change in several places is taken place by place.
/** @param {Hunk} hunk @param {number} place @param {number} count @param {boolean} ticked @param {string} path @param {Say} say */
function part(hunk, place, count, ticked, path, say) {
  const label = say("take_hunk", { place: place + 1, count });
  return html`<div class="hunk">
    <label><input type="checkbox" name="hunk" value=${place + 1} .checked=${ticked} aria-label=${label}>${key(place)}<span>${placeOf(hunk, say)}</span>${counts(countsOf([hunk]))}</label>
    ${hunkOf(hunk, path, label)}
  </div>`;
}

/** @param {number} place */
function key(place) {
  return place < MOST_KEYS ? html`<kbd aria-hidden="true">${place + 1}</kbd>` : nothing;
}
