// The files of a turn: what it changed, and what taking them back would do now, seen before it is done.

import { bar } from "../dialogs/bar.js";
import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { fileList } from "./file_list.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */
/** @import { FileDifference } from "../state/state.js" */

/** @param {Sheet} sheet */
export function files({ state, say, actions, close }) {
  if (!state.files) return nothing;
  const { nodeId, changed, back, written, alive, named } = state.files;
  const blocked = back.some((file) => file.conflict);
  const take = () => {
    close();
    actions.files.takeFiles();
  };
  const guarded = back.filter((file) => file.protected);
  const count = back.length - guarded.length + named.length;
  const onname = (/** @type {Event} */ event) => {
    const { value, checked } = /** @type {HTMLInputElement} */ (event.target);
    actions.files.nameFile(value, checked);
  };
  const tick = (/** @type {FileDifference} */ { path, protected: why }) =>
    html`<label class="named"><input type="checkbox" value=${path} .checked=${named.includes(path)} @change=${onname}><span><b>${say("files_named", { path })}</b><small>${why}</small></span></label>`;
  const offer = html`${fileList(back, say, state.project)}${guarded.map(tick)}`;
  const foot = html`<div class="foot single"><button type="button" class="primary" ?disabled=${blocked || !count} @click=${take}>${icon("undo-2")}${say("files_take", { count })}</button></div>`;
  return html`${bar(say("files_of", { title: state.briefs.get(nodeId)?.title ?? "…" }), say, close)}
    ${back.length ? html`<h3>${say("files_back")}</h3><p class="hint">${say("files_back_text")}</p>${offer}<h3>${say("files_changed")}</h3>` : nothing}
    <p class="hint">${back.length ? nothing : html`${say("files_same")} `}${written ? html`<span class="alive">${say("lines_alive", { alive, written })}</span>` : nothing}</p>
    ${changed.length ? fileList(changed, say, state.project, actions.files.lookAtLines) : html`<p>${say("files_none")}</p>`}
    ${back.length ? foot : nothing}`;
}
