// The head of a sheet: its name, what else belongs there, and the way out.

import { html, nothing } from "../lib/lit.js";

/** @param {string} title @param {(key: string) => string} say @param {() => void} close @param {any} more */
export function bar(title, say, close, more = nothing) {
  return html`<div class="bar"><h2 id="dialog-title">${title}</h2>${more}<button type="button" @click=${close}>${say("close")}</button></div>`;
}
