// What the model would be sent, part by part, with what it costs; each turn can be left out or taken in again.

import { dollars, short } from "../figures/measures.js";
import { iconButton } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";

/** @import { Say } from "../lib/words.js" */
/** @import { Loading } from "../server/loading.js" */
/** @import { Preview, State } from "../state/state.js" */
/** @import { ComposingActions } from "./actions.js" */

/** @param {State} state @param {Say} say @param {ComposingActions} composing @param {Pick<Loading, "briefs">} loading */
export function preview({ preview: found, briefs, composing: { without } }, say, composing, loading) {
  if (!found) return nothing;
  const title = (/** @type {string} */ id) => briefs.get(id)?.title || id.slice(0, 8);
  loading.briefs([...found.parts.map((part) => part.node_id), ...without].filter((id) => id && !briefs.has(id)));
  const left = found.left_out.length ? ` ${say("left_out", { count: found.left_out.length })}` : "";
  const gone = (/** @type {string} */ id) =>
    html`<p class="part gone"><s>${title(id)}</s>${iconButton("plus", say("take_in_title", { title: title(id) }), () => composing.takeIn(id))}</p>`;
  const attached = (/** @type {Preview["attached"][number]} */ { name, kind, tokens }) =>
    html`<p class="part"><span>${name}</span><small>${say(kind === "image" ? "form_image" : "form_attached")} · ${short(tokens)}</small></p>`;
  return html`<section class="preview" aria-label=${say("preview")}>
    <p class="hint"><span>${total(found, say)}${left}</span>${iconButton("x", say("close"), composing.closePreview)}</p>
    ${found.parts.map((part) => shown(part, part.node_id ? title(part.node_id) : "", say, composing))}
    ${found.attached.map(attached)}
    ${without.map(gone)}
    <p class="hint">${say("preview_frame", { tokens: short(found.frame_tokens) })}</p>
  </section>`;
}

/** @param {Preview} found @param {Say} say */
function total(found, say) {
  const tokens = `≈ ${short(found.total_tokens + found.frame_tokens)}`;
  const cost = found.cost === null ? "" : ` · ${dollars(found.cost)}`;
  return `${say("preview_total", { tokens, budget: short(found.budget), count: found.parts.length })}${cost} · ${found.model}`;
}

/** @param {Preview["parts"][number]} part @param {string} name @param {Say} say @param {Pick<ComposingActions, "leaveOut">} composing */
function shown(part, name, say, { leaveOut }) {
  return html`<div class="part beside"><details><summary><span>${name}</span><small>${say(`form_${part.form}`)} · ${short(part.tokens)}</small></summary><pre tabindex="0">${part.text}</pre></details>
    ${iconButton("x", say("leave_out_title", { title: name }), () => leaveOut(part.node_id))}</div>`;
}
