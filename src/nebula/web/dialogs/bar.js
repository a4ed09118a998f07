// The head of a sheet: its name, what else belongs there, and the way out.

import { iconButton } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";

/** @param {any} title @param {(key: string) => string} say @param {() => void} close @param {any} more */
export function bar(title, say, close, more = nothing) {
  return html`<div class="bar"><h2 id="dialog-title">${title}</h2>${more}${iconButton("x", say("close"), close)}</div>`;
}
