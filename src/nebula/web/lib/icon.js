// Icons, and buttons that are one: the name is said by the tooltip and to a screen reader.
//
//   html`${iconButton("copy", say("copy"), copy)}`

import { ICONS } from "../vendor/lucide/icons.js";
import { html, nothing } from "./lit.js";

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {keyof typeof ICONS} IconName */

/** @param {IconName} name */
export function icon(name) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${ICONS[name]}></path></svg>`;
}

// For elements that no template draws.
/** @param {IconName} name */
export function iconElement(name) {
  const image = document.createElementNS(SVG, "svg");
  image.setAttribute("class", "icon");
  image.setAttribute("viewBox", "0 0 24 24");
  image.setAttribute("aria-hidden", "true");
  image.append(document.createElementNS(SVG, "path"));
  image.firstElementChild?.setAttribute("d", ICONS[name]);
  return image;
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
