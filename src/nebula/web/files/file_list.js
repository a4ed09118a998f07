// Files with how they differ, each folded open where there are few.

import { diffOf } from "../lib/diff.js";
import { editorLink } from "../lib/editor_link.js";
import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { pathOf } from "../lib/path.js";

/** @import { Say } from "../lib/words.js" */
/** @import { FileDifference, State } from "../state/state.js" */

const FEW = 4;

/** @param {FileDifference[]} found @param {Say} say @param {State["project"]} project @param {((path: string) => void) | null} look */
export function fileList(found, say, project, look = null) {
  const one = (/** @type {FileDifference} */ file) => html`<div class="one"><details ?open=${found.length < FEW}>
    <summary>${icon("file-diff")}${pathOf(file.path)}${counts(file)}${file.conflict ? html` <span class="conflict">${file.conflict}</span>` : nothing}</summary>
    ${file.diff ? diffOf(file.diff, say, { path: file.path }) : nothing}
  </details><span class="links">${look ? linesButton(file.path, say, look) : nothing}${openLink(project, file.path, say)}</span></div>`;
  return html`<div class="files">${found.map(one)}</div>`;
}

/** @param {{ added: number, removed: number }} change */
export function counts({ added, removed }) {
  return html`<span class="count"><span class="plus">+${added}</span> <span class="minus">−${removed}</span></span>`;
}

/** @param {string} path @param {Say} say @param {(path: string) => void} look */
export function linesButton(path, say, look) {
  const label = say("lines_of", { path });
  return html`<button type="button" class="icon-button lines-of" aria-label=${label} data-tip=${label} @click=${() => look(path)}>${icon("scroll-text")}</button>`;
}

/** @param {State["project"]} project @param {string} path @param {Say} say */
export function openLink(project, path, say) {
  const href = editorLink(project, path);
  const label = say("open_in_editor", { path });
  return href
    ? html`<a class="open" href=${href} aria-label=${label} data-tip=${label}>${icon("external-link")}</a>`
    : nothing;
}
