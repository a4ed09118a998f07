// The files of a turn: what it changed, and what taking them back would do now, seen before it is done.

import { bar } from "../dialogs/bar.js";
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
  const offer = html`${fileList(back, say, state.project)}
      <p><button type="button" class="primary" ?disabled=${blocked} @click=${take}>${say("files_take", { count: back.length })}</button></p>`;
  return html`${bar(say("files_of", { title: state.briefs.get(nodeId)?.title ?? "…" }), say, close)}
    <h3>${say("files_back")}</h3>
    <p>${say(back.length ? "files_back_text" : "files_same")}</p>
    ${back.length ? offer : nothing}
    <h3>${say("files_changed")}</h3>
    ${written ? html`<p class="alive">${say("lines_alive", { alive, written })}</p>` : nothing}
    ${changed.length ? fileList(changed, say, state.project, actions.files.lookAtLines) : html`<p>${say("files_none")}</p>`}`;
}
