// The parts of a turn as it is read: who speaks, what went along, where it forks, its facts, and what can be done with it.

import { dollars } from "../figures/measures.js";
import { linesButton, openLink } from "../files/file_list.js";
import { fieldOf } from "../lib/dom.js";
import { html, nothing } from "../lib/lit.js";
import { answer, copied } from "../lib/markdown.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { FileActions } from "../files/actions.js" */
/** @import { Edits } from "../graph/edits.js" */
/** @import { Labels } from "../lib/markdown.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Body, State } from "../state/state.js" */
/** @import { Topology } from "../state/topology.js" */
/** @import { TurnActions } from "./actions.js" */
/** @typedef {{ turns: TurnActions, edits: Edits, files: FileActions, choosing: Choosing }} ReadingActions */

const IMAGES = new Set(["png", "jpeg", "gif", "webp"]);

/** @param {string} kind @param {string} who @param {any} text @param {any} button */
export function said(kind, who, text, button = nothing) {
  return html`<div class="speech ${kind}">${who ? html`<h2>${who}${button}</h2>` : nothing}${text}</div>`;
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

/** @param {string} text @param {Labels} labels */
export function copyButton(text, labels) {
  const copy = (/** @type {Event} */ event) => copied(/** @type {HTMLElement} */ (event.target), text, labels);
  return text ? html` <button type="button" class="copy" @click=${copy}>${labels.copy}</button>` : nothing;
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
      : html`<details><summary>${name}</summary><pre tabindex="0">${text}</pre></details>`;
  return html`<div class="attachments">${all.map(one)}</div>`;
}

// Which of several turns that continue the same one this is, and the way to the others.
/** @param {string} id @param {Topology} topology @param {number[]} beside @param {Say} say @param {Pick<Choosing, "select">} choosing */
export function fork(id, topology, beside, say, { select }) {
  if (beside.length < 2) return nothing;
  const at = beside.indexOf(topology.index.get(id) ?? -1);
  const go = (/** @type {number} */ step) => () => select(topology.ids[beside[at + step]]);
  return html`<p class="fork">
    <button type="button" class="quiet" aria-label=${say("previous")} ?disabled=${at === 0} @click=${go(-1)}>‹</button>${say("siblings", { place: at + 1, count: beside.length })}<button type="button" class="quiet" aria-label=${say("next")} ?disabled=${at === beside.length - 1} @click=${go(1)}>›</button>
  </p>`;
}

/** @param {Body} body @param {Say} say @param {State["project"]} project @param {Pick<FileActions, "lookAtLines">} files */
export function facts(body, say, project, { lookAtLines }) {
  const parts = [];
  if (body.model) parts.push(body.model);
  if (body.timestamp) parts.push(new Date(body.timestamp).toLocaleString(document.documentElement.lang));
  if (body.usage) parts.push(`↑${body.usage.input} ↓${body.usage.output}`);
  if (body.usage?.cost) parts.push(dollars(body.usage.cost));
  const files = (body.files ?? []).map(
    (/** @type {{ path: string }} */ file) =>
      html` · <span class="file">${file.path} ${project.root ? linesButton(file.path, say, lookAtLines) : nothing} ${openLink(project, file.path, say)}</span>`,
  );
  const tags = html`<p class="tags">${body.tags.map((tag) => html`<span class="tag">${tag}</span> `)}</p>`;
  return html`<footer>
    ${body.summary ? html`<p class="summary"><b>${say("summary")}</b> ${body.summary}</p>` : nothing}
    ${body.tags.length ? tags : nothing}
    <p class="facts">${parts.join(" · ")}${files}</p>
  </footer>`;
}

// What can be done with a turn.
/** @param {Body} body @param {boolean} selected @param {boolean} hasFiles @param {Say} say @param {ReadingActions} actions */
export function acts(body, selected, hasFiles, say, { turns, edits, files }) {
  const { id } = body;
  const save = (/** @type {Event} */ event) => {
    const tags = fieldOf(event, "tags").split(/[,、]/);
    edits.tag(id, tags.map((tag) => tag.trim()).filter(Boolean));
  };
  const more = html`<button type="button" class="quiet" @click=${() => edits.remove([id])}>${say("delete")}</button>
    <form @submit=${save}><input name="tags" type="text" autocomplete="off" placeholder=${say("tags")} aria-label=${say("tags")} .value=${body.tags.join(", ")}><button type="submit" class="quiet">${say("save")}</button></form>`;
  return html`<div class="acts">
    <button type="button" class="quiet" @click=${() => turns.retry(id)}>${say("retry")}</button>
    <button type="button" class="quiet" @click=${() => turns.edit(id)}>${say("edit")}</button>
    ${hasFiles ? html`<button type="button" class="quiet files-of" @click=${() => files.lookAtFiles(id)}>${say("files")}</button>` : nothing}
    ${selected ? more : nothing}
  </div>`;
}
