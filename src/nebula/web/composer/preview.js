// What the model would be sent, part by part, with what it costs; each turn can be left out or taken in again.

import { html, nothing } from "../lib/lit.js";
import { dollars, short } from "../state/figures.js";

export function preview({ preview: found, briefs, composing }, say, page) {
  if (!found) return nothing;
  const title = (id) => briefs.get(id)?.title || id.slice(0, 8);
  page.briefs([...found.parts.map((part) => part.node_id), ...composing.without].filter((id) => id && !briefs.has(id)));
  return html`<section class="preview" aria-label=${say("preview")}>
    <p><b>${total(found, say)}</b>${found.left_out.length ? ` ${say("left_out", { count: found.left_out.length })}` : ""}<button type="button" class="quiet" aria-label=${say("close")} @click=${() => page.closePreview()}>×</button></p>
    ${found.parts.map((part) => shown(part, title, say, page))}
    ${found.attached.map(({ name, kind, tokens }) => html`<p class="part">${name} · ${say(kind === "image" ? "form_image" : "form_attached")} · ${short(tokens)}</p>`)}
    ${composing.without.map((id) => html`<p class="part gone"><s>${title(id)}</s> <button type="button" class="quiet small" aria-label=${say("take_in_title", { title: title(id) })} @click=${() => page.takeIn(id)}>${say("take_in")}</button></p>`)}
    <p class="hint">${say("preview_frame", { tokens: short(found.frame_tokens) })}</p>
  </section>`;
}

function total(found, say) {
  const tokens = `≈ ${short(found.total_tokens + found.frame_tokens)}`;
  const cost = found.cost === null ? "" : ` · ${dollars(found.cost)}`;
  return `${say("preview_total", { tokens, budget: short(found.budget), count: found.parts.length })}${cost} · ${found.model}`;
}

function shown(part, title, say, page) {
  const name = part.node_id ? title(part.node_id) : "";
  const leave = () => page.leaveOut(part.node_id);
  return html`<div class="part beside"><details><summary>${name} · ${say(`form_${part.form}`)} · ${short(part.tokens)}</summary><pre tabindex="0">${part.text}</pre></details>
    <button type="button" class="quiet small" aria-label=${say("leave_out_title", { title: name })} @click=${leave}>${say("leave_out")}</button></div>`;
}
