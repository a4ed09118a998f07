// What goes without asking: a mark below the prompt where anything does, and the sheet that takes it back.

import { bar } from "../dialogs/bar.js";
import { icon } from "../lib/icon.js";
import { html, nothing, repeat } from "../lib/lit.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Allowed, State } from "../state/state.js" */

const EVERY_FILE = "*";

/** @param {State} state @param {Say} say @param {() => void} show */
export function allowedMark({ allowed }, say, show) {
  if (!allowed.length) return nothing;
  const names = allowed.map(({ name }) => name);
  const words = names.includes(EVERY_FILE) ? say("yes_to_all") : say("yes_to", { names: names.join(" ") });
  return html`<button type="button" class="quiet" id="allowed" data-tip=${say("cmd_permissions")} @click=${show}>${icon("check")}<span class="name">${words}</span></button>`;
}

/** @param {Sheet} sheet */
export function permissions({ state: { allowed }, say, close, actions }) {
  const takeBack = (/** @type {Event} */ event, /** @type {string} */ name) => {
    /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.currentTarget).closest("dialog"))?.focus(); // the button goes away
    actions.permissions.revoke(name);
  };
  const one = (/** @type {Allowed} */ { name, about }) =>
    html`<li><span><code>${name}</code> ${about}</span><button type="button" aria-label=${say("ask_again_about", { name, about })} @click=${(/** @type {Event} */ event) => takeBack(event, name)}>${say("ask_again")}</button></li>`;
  return html`${bar(say("cmd_permissions"), say, close)}
    <p class="hint">${say(allowed.length ? "allowed_here" : "all_asked")}</p>
    <ul class="allowed">${repeat(allowed, ({ name, about }) => name + about, one)}</ul>
    ${allowed.length > 1 ? html`<div class="ends"><button type="button" class="primary" @click=${(/** @type {Event} */ event) => takeBack(event, "")}>${say("ask_all_again")}</button></div>` : nothing}`;
}
