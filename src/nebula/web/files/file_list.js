// Files with how they differ, each folded open where there are few.

import { diffOf } from "../lib/diff.js";
import { editorLink } from "../lib/editor_link.js";
import { html, nothing } from "../lib/lit.js";

/** @import { Say } from "../lib/words.js" */
/** @import { FileDifference, State } from "../state/state.js" */

const FEW = 4;

/** @param {FileDifference[]} found @param {Say} say @param {State["project"]} project @param {((path: string) => void) | null} look */
export function fileList(found, say, project, look = null) {
  const one = (/** @type {FileDifference} */ file) => html`<div class="beside"><details ?open=${found.length < FEW}>
    <summary>${file.path} <span class="count">+${file.added} −${file.removed}</span>${file.conflict ? html` <span class="conflict">${file.conflict}</span>` : nothing}</summary>
    ${file.diff ? diffOf(file.diff, say("diff")) : nothing}
  </details>${look ? linesButton(file.path, say, look) : nothing}${openLink(project, file.path, say)}</div>`;
  return html`<div class="files">${found.map(one)}</div>`;
}

/** @param {string} path @param {Say} say @param {(path: string) => void} look */
export function linesButton(path, say, look) {
  const label = say("lines_of", { path });
  return html`<button type="button" class="quiet lines-of" aria-label=${label} title=${label} @click=${() => look(path)}>≣</button>`;
}

/** @param {State["project"]} project @param {string} path @param {Say} say */
export function openLink(project, path, say) {
  const href = editorLink(project, path);
  const label = say("open_in_editor", { path });
  return href ? html`<a class="open" href=${href} aria-label=${label} title=${label}>↗</a>` : nothing;
}
