// Files with how they differ, each folded open where there are few.

import { diffOf } from "../lib/diff.js";
import { editorLink } from "../lib/editor_link.js";
import { html, nothing } from "../lib/lit.js";

const FEW = 4;

export function fileList(found, say, project) {
  const one = (file) => html`<div class="beside"><details ?open=${found.length < FEW}>
    <summary>${file.path} <span class="count">+${file.added} −${file.removed}</span>${file.conflict ? html` <span class="conflict">${file.conflict}</span>` : nothing}</summary>
    ${file.diff ? diffOf(file.diff, say("diff")) : nothing}
  </details>${openLink(project, file.path, say)}</div>`;
  return html`<div class="files">${found.map(one)}</div>`;
}

export function openLink(project, path, say) {
  const href = editorLink(project, path);
  return href
    ? html`<a class="open" href=${href} aria-label=${say("open_in_editor", { path })} title=${say("open_in_editor", { path })}>↗</a>`
    : nothing;
}
