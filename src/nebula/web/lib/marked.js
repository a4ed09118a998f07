// A title with the words that were looked for marked in it.

import { html } from "./lit.js";

/** @param {string} text @param {string} wanted */
export function marked(text, wanted) {
  const words = wanted.split(/[\s"]+/).filter(Boolean);
  if (!words.length) return text;
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "gi");
  return text.split(pattern).map((part, place) => (place % 2 ? html`<mark>${part}</mark>` : part));
}
