// Icons, and buttons that are one: the name is said by the tooltip and to a screen reader.
//
//   html`${iconButton("copy", say("copy"), copy)}`

import { ICONS } from "../vendor/lucide/icons.js";
import { html, nothing } from "./lit.js";

/** @typedef {keyof typeof ICONS} IconName */

/** @param {IconName} name */
export function icon(name) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${ICONS[name]}></path></svg>`;
}

/**
 * @param {IconName} name
 * @param {string} label
 * @param {(event: Event) => void} act
 * @param {{ kind?: string, id?: string, pressed?: boolean, expanded?: boolean, disabled?: boolean }} more
 */
export function iconButton(name, label, act, { kind = "", id, pressed, expanded, disabled = false } = {}) {
  const told = (/** @type {boolean | undefined} */ on) => (on === undefined ? nothing : on ? "true" : "false");
  return html`<button type="button" class="icon-button ${kind}" id=${id ?? nothing} aria-label=${label} data-tip=${label} aria-pressed=${told(pressed)} aria-expanded=${told(expanded)} ?disabled=${disabled} @click=${act}>${icon(name)}</button>`;
}
