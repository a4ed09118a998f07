// What the prompt continues, what is shown beside it, and what is attached: each can be taken off again.

import { html, nothing, repeat } from "../lib/lit.js";
import { continuing, steerable } from "../state/reduce.js";

export function chips(state, say, page) {
  const { references, attached } = state.composing;
  const title = (id) => state.briefs.get(id)?.title || "…";
  page.briefs(references.filter((id) => !state.briefs.has(id)));
  return html`${path(state, say, page, title)}
    ${repeat(
      references,
      (id) => id,
      (id) => chip(`@ ${title(id)}`, say("remove", { title: title(id) }), () => page.unrefer(id), "reference"),
    )}
    ${attached.map((each, place) => chip(`${each.image ? "▣" : "▤"} ${each.name}`, say("remove", { title: each.name }), () => page.detach(place), "attached"))}
    ${several(state, say, page)}`;
}

/** @param {string} name @param {string} label @param {() => void} drop @param {string} kind @param {any} more */
function chip(name, label, drop, kind = "", more = nothing) {
  return html`<span class="chip ${kind}"><span class="name">${name}</span>${more}<button type="button" aria-label=${label} @click=${drop}>×</button></span>`;
}

function path(state, say, page, title) {
  const from = continuing(state);
  if (steerable(state)) return html`<span class="hint">${say("goes_into_turn")}</span>`;
  if (!from.length) return html`<span class="hint">${say("starts_new")}</span>`;
  const drop = (id) => () => (from.length > 1 ? page.toggle(id) : page.start());
  // A further turn is merged; it can be shown to the model as a reference instead.
  const beside = (id) =>
    html`<button type="button" title=${say("as_reference", { title: title(id) })} aria-label=${say("as_reference", { title: title(id) })} @click=${() => page.referInstead(id)}>@</button>`;
  return html`<span class="hint">${say(from.length > 1 ? "merging" : "continuing")}</span>
    ${repeat(
      from,
      (id) => id,
      (id, place) => chip(title(id), say("remove", { title: title(id) }), drop(id), "", place ? beside(id) : nothing),
    )}`;
}

// What can be done with several turns at once.
function several(state, say, page) {
  const from = continuing(state);
  const { selected, merging } = state;
  if (steerable(state)) return nothing;
  if (from.length < 2 && merging.length) return html`<span class="hint" role="status">${say("merge_now")}</span>`;
  if (from.length < 2)
    return html`<button type="button" class="quiet small" ?hidden=${selected === null} title=${say("merge_hint")} @click=${() => page.merge(selected)}>${say("merge")}</button>`;
  return html`<span class="several" role="group" aria-label=${say("chosen", { count: from.length })}>
    ${from.length === 2 ? html`<button type="button" class="quiet small" @click=${() => page.compare(from)}>${say("compare")}</button>` : nothing}
    <button type="button" class="quiet small" @click=${() => page.look({ dialog: "delete" })}>${say("delete_several", { count: from.length })}</button>
    <button type="button" class="quiet small" @click=${() => page.unmergeAll()}>${say("only_one")}</button>
  </span>`;
}
