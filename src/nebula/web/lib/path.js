// A path as it is read: its directory faint, its name strong.

import { html } from "./lit.js";

/** @param {string} path */
export function pathOf(path) {
  const end = path.lastIndexOf("/") + 1;
  return html`<span class="path"><span class="directory">${path.slice(0, end)}</span><b>${path.slice(end)}</b></span>`;
}
