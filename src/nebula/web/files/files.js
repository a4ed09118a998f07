// The files of a turn: what it changed, and what taking them back would do now, seen before it is done.

import { bar } from "../dialogs/bar.js";
import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { fileList } from "./file_list.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */

/** @param {Sheet} sheet */
export function files({ state, say, actions, close }) {
  if (!state.files) return nothing;
  const { nodeId, changed, back, written, alive } = state.files;
  const blocked = back.some((file) => file.conflict);
  const take = () => {
    close();
    actions.files.takeFiles();
  };
  const offer = fileList(back, say, state.project);
  const foot = html`<div class="foot single"><button type="button" class="primary" ?disabled=${blocked} @click=${take}>${icon("undo-2")}${say("files_take", { count: back.length })}</button></div>`;
  return html`${bar(say("files_of", { title: state.briefs.get(nodeId)?.title ?? "…" }), say, close)}
    ${back.length ? html`<h3>${say("files_back")}</h3><p class="hint">${say("files_back_text")}</p>${offer}<h3>${say("files_changed")}</h3>` : nothing}
    <p class="hint">${back.length ? nothing : html`${say("files_same")} `}${written ? html`<span class="alive">${say("lines_alive", { alive, written })}</span>` : nothing}</p>
    ${changed.length ? fileList(changed, say, state.project, actions.files.lookAtLines) : html`<p>${say("files_none")}</p>`}
    ${back.length ? foot : nothing}`;
}
