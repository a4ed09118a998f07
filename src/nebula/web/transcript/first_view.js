// The first view of a project: its name, things to begin with, and the conversations of late.

import { nameOf } from "../header/header.js";
import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { timeOf } from "../lib/time.js";
import { recentConversations } from "./recent.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { IconName } from "../lib/icon.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Loading } from "../server/loading.js" */
/** @import { State } from "../state/state.js" */
/** @import { Topology } from "../state/topology.js" */
/** @typedef {{ choosing: Pick<Choosing, "open">, suggest: (prompt: string) => void }} FirstActions */

const MOST_RECENT = 5;
/** @type {[string, IconName][]} */
const BEGINNINGS = [
  ["explain", "compass"],
  ["bug", "bug"],
  ["test", "list-checks"],
];

/** @param {State} state @param {Topology} topology @param {Say} say @param {FirstActions} actions @param {Pick<Loading, "briefs">} loading */
export function firstView(state, topology, say, { choosing, suggest }, loading) {
  const { root } = state.project;
  const recent = recentConversations(topology, MOST_RECENT);
  loading.briefs(recent.flatMap(({ first, last }) => [first, last]).filter((id) => !state.briefs.has(id)));
  const beginning = (/** @type {[string, IconName]} */ [name, sign]) =>
    html`<button type="button" class="card" @click=${() => suggest(say(`begin_${name}_prompt`))}>${icon(sign)}<b>${say(`begin_${name}`)}</b><span>${say(`begin_${name}_hint`)}</span></button>`;
  const one = (/** @type {{ first: string, last: string }} */ { first, last }) => {
    const at = /** @type {any} */ (state.briefs.get(last))?.timestamp;
    return html`<li><button type="button" class="quiet" @click=${() => choosing.open(last)}>${icon("message-square")}<span>${state.briefs.get(first)?.title || "…"}</span><time>${at ? timeOf(at, state.view.lang) : ""}</time></button></li>`;
  };
  return html`<div class="first-view">
    <h2>${root ? nameOf(root) : "nebula"}</h2>
    <p>${say("first_hello")}</p>
    ${root ? html`<div class="cards">${BEGINNINGS.map(beginning)}</div>` : nothing}
    ${recent.length ? html`<h3>${say("recent")}</h3><ul>${recent.map(one)}</ul>` : teaching(say)}
  </div>`;
}

// What a graph of turns is for, where there is none yet.
/** @param {Say} say */
function teaching(say) {
  return html`<div class="teaching">
    <svg viewBox="0 0 132 84" aria-hidden="true"><path d="M20 42h24M56 36c14-18 10-18 24-18M56 48c14 18 10 18 24 18M92 18c14 0 8 18 20 22M92 66c14 0 8-18 20-22"></path><circle cx="14" cy="42" r="6"></circle><circle cx="50" cy="42" r="6"></circle><circle cx="86" cy="18" r="6"></circle><circle cx="86" cy="66" r="6"></circle><circle class="last" cx="118" cy="42" r="6"></circle></svg>
    <p>${say("teach")} <span class="keys">${say("teach_keys")}</span></p>
  </div>`;
}
