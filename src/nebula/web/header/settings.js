// The settings in one menu: look, language, notifications, and the sheet of keys.

import { canNotify } from "../app/notify.js";
import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";

/** @import { Looking } from "../app/looking.js" */
/** @import { IconName } from "../lib/icon.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { View } from "../state/state.js" */

/** @type {[string, IconName][]} */
const LOOKS = [
  ["auto", "monitor"],
  ["light", "sun"],
  ["dark", "moon"],
];
const LANGUAGES = [
  ["en", "English"],
  ["ja", "日本語"],
];

/** @param {View} view @param {Say} say @param {Looking} looking */
export function settings(view, say, { look, chooseTheme, chooseLanguage, toggleNotify }) {
  const pressed = (/** @type {boolean} */ on) => (on ? "true" : "false");
  const theme = (/** @type {[string, IconName]} */ [name, sign]) =>
    html`<button type="button" id=${`theme-${name}`} aria-pressed=${pressed(view.theme === name)} @click=${() => chooseTheme(name)}>${icon(sign)}${say(`theme_${name}`)}</button>`;
  const language = (/** @type {string[]} */ [code, name]) =>
    html`<button type="button" id=${`language-${code}`} lang=${code} aria-pressed=${pressed(view.lang === code)} @click=${() => chooseLanguage(code)}>${name}</button>`;
  const notify = html`<button type="button" class="quiet" id="notify" aria-pressed=${pressed(view.notify)} @click=${toggleNotify}>${icon(view.notify ? "bell" : "bell-off")}${say("notify")}</button>`;
  const opens = (/** @type {"help" | "palette"} */ dialog) => (/** @type {Event} */ event) => {
    closeMenu(event);
    look({ dialog });
  };
  return html`<div class="choice" role="group" aria-label=${say("look")}><span>${say("look")}</span><span class="segments">${LOOKS.map(theme)}</span></div>
    <div class="choice" role="group" aria-label=${say("language_name")}><span>${say("language_name")}</span><span class="segments">${LANGUAGES.map(language)}</span></div>
    ${canNotify() ? notify : nothing}
    <button type="button" class="quiet" id="commands" @click=${opens("palette")}>${icon("search")}${say("cmd_palette")}<kbd>ctrl+k</kbd></button>
    <button type="button" class="quiet" id="help" @click=${opens("help")}>${icon("keyboard")}${say("help")}<kbd>?</kbd></button>`;
}

/** @param {Event} event */
function closeMenu({ currentTarget }) {
  /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (currentTarget).closest("[popover]"))?.hidePopover();
}
