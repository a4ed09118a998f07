// The parts of a turn as it is read: what was said, what went along, where it forks, the files it changed.

import { linesButton, openLink } from "../files/file_list.js";
import { icon, iconButton } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { answer } from "../lib/markdown.js";
import { pathOf } from "../lib/path.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { FileActions } from "../files/actions.js" */
/** @import { Edits } from "../graph/edits.js" */
/** @import { Labels } from "../lib/markdown.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Body, State } from "../state/state.js" */
/** @import { Topology } from "../state/topology.js" */
/** @import { TurnActions } from "./actions.js" */
/** @typedef {{ turns: TurnActions, edits: Edits, files: FileActions, choosing: Choosing, operations: () => { name: string, keys: string[], act: () => void }[] }} ReadingActions `operations`: what can be done with the chosen turn now. */

const FILES_AT_FIRST = 20;
const IMAGES = new Set(["png", "jpeg", "gif", "webp"]);

// Who speaks is seen by the side it stands on; who does not see that hears it.
/** @param {string} kind @param {string} who @param {any} text */
export function said(kind, who, text) {
  return html`<div class="speech ${kind}">${who ? html`<h2 class="hidden">${who}</h2>` : nothing}${text}</div>`;
}

/** @param {string} text */
export function plain(text) {
  return html`<div class="text plain">${text}</div>`;
}

// An answer may be given in several rounds: it is headed once.
/** @param {{ text: string, act: number }} part @param {{ act: number } | undefined} before @param {Say} say @param {Labels} labels */
export function spoken(part, before, say, labels) {
  if (!part.act) return said("prompt", say("you"), plain(part.text));
  return said(`response act-${part.act}`, before?.act ? "" : say("answer"), answerOf(part, part.text, labels));
}

// The elements of an answer are made once and kept with it.
/** @type {WeakMap<object, { text: string, copy: string, shown: HTMLElement }>} */
const made = new WeakMap();
/** @param {object} owner @param {string} text @param {Labels} labels */
export function answerOf(owner, text, labels) {
  const known = made.get(owner);
  if (known?.text === text && known.copy === labels.copy) return known.shown;
  const shown = answer(text, labels);
  made.set(owner, { text, copy: labels.copy, shown });
  return shown;
}

/** @typedef {{ name: string, kind: string, text: string, format: string }} Attachment */

// What went along with the prompt: images as they are, texts folded.
/** @param {Body} body */
export function attachments({ attachments: all = [] }) {
  if (!all.length) return nothing;
  const one = (/** @type {Attachment} */ { name, kind, text, format }) =>
    kind === "image" && text && IMAGES.has(format)
      ? html`<img alt=${name} title=${name} src=${`data:image/${format};base64,${text}`}>`
      : html`<details><summary>${icon("paperclip")}${name}</summary><pre tabindex="0">${text}</pre></details>`;
  return html`<div class="attachments">${all.map(one)}</div>`;
}

// A command of the palette, where it is possible now.
/** @param {ReadingActions["operations"]} operations @param {string} wanted */
export function perform(operations, wanted) {
  operations()
    .find(({ name }) => name === wanted)
    ?.act();
}

// What the reader noted for themselves; a press changes the note of the chosen turn.
/** @param {Body} body @param {boolean} selected @param {Say} say @param {Pick<ReadingActions, "operations">} actions */
export function slip({ note }, selected, say, { operations }) {
  if (!note) return nothing;
  const words = html`${icon("sticky-note")}<span class="hidden">${say("note")}: </span><span>${note}</span>`;
  const change = () => perform(operations, "note_turn");
  return selected
    ? html`<button type="button" class="slip" @click=${change}>${words}</button>`
    : html`<p class="slip">${words}</p>`;
}

// The flow that the chosen turn opens, one press away.
/** @param {string} name @param {Say} say @param {Pick<ReadingActions, "operations">} actions */
export function opening(name, say, { operations }) {
  const open = () => perform(operations, "open_flow");
  return html`<button type="button" class="small opens" @click=${open}>${icon("workflow")}<span>${say("handle_open", { name })}</span></button>`;
}

// Which of several turns that continue the same one this is, and the way to the others.
/** @param {string} id @param {Topology} topology @param {number[]} beside @param {Say} say @param {Pick<Choosing, "select">} choosing */
export function fork(id, topology, beside, say, { select }) {
  if (beside.length < 2) return nothing;
  const at = beside.indexOf(topology.index.get(id) ?? -1);
  const go = (/** @type {number} */ step) => () => select(topology.ids[beside[at + step]]);
  return html`<p class="fork">
    ${iconButton("chevron-left", say("previous"), go(-1), { disabled: at === 0 })}<span data-tip=${say("siblings_hint")}>${say("siblings", { place: at + 1, count: beside.length })}</span>${iconButton("chevron-right", say("next"), go(1), { disabled: at === beside.length - 1 })}
  </p>`;
}

// The files that a turn changed, each with the way to its lines and to the editor.
/** @param {Body} body @param {Say} say @param {State["project"]} project @param {State["alive"]} alive @param {Pick<FileActions, "lookAtLines" | "lookAtFiles">} files */
export function changedFiles(body, say, project, alive, { lookAtLines, lookAtFiles }) {
  const changed = body.files ?? [];
  if (!changed.length) return nothing;
  const living = (/** @type {string} */ path) => {
    const found = alive?.files.find((each) => each.path === path);
    return found && found.alive < found.written
      ? html`<button type="button" class="quiet alive" data-tip=${say("lines_of", { path })} @click=${() => lookAtLines(path)}>${say("lines_live", found)}</button>`
      : nothing;
  };
  const one = ({ path = "" }) => html`<li class="file">
    ${
      project.root
        ? html`<button type="button" class="quiet" @click=${() => lookAtFiles(body.id)}>${icon("file-diff")}${pathOf(path)}</button>${linesButton(path, say, lookAtLines)}${openLink(project, path, say)}${living(path)}`
        : html`${icon("file-diff")}${pathOf(path)}`
    }
  </li>`;
  const list = (/** @type {{ path: string }[]} */ some) =>
    html`<ul class="changed" aria-label=${say("files_changed")}>${some.map(one)}</ul>`;
  const rest = changed.slice(FILES_AT_FIRST);
  const fold = html`<details><summary>${say("files_more", { count: rest.length })}</summary>${list(rest)}</details>`;
  return html`${list(changed.slice(0, FILES_AT_FIRST))}${rest.length ? fold : nothing}`;
}
