// The command palette and the sheet of keys, both out of the table of commands.

import { possible } from "../commands.js";
import { valueOf } from "../lib/dom.js";
import { html, nothing, repeat } from "../lib/lit.js";
import { bar } from "./bar.js";

/** @import { Command } from "../commands.js" */
/** @import { Sheet } from "./dialogs.js" */

/** @param {Sheet} sheet */
export function palette({ state, say, actions, kept, redraw, run }) {
  const wanted = kept.text.toLowerCase();
  const name = (/** @type {Command} */ command) => say(`cmd_${command.name}`);
  const found = possible(actions.commands, state).filter((command) => name(command).toLowerCase().includes(wanted));
  const active = found[kept.active];
  const oninput = (/** @type {Event} */ event) => {
    Object.assign(kept, { text: valueOf(event), active: 0 });
    redraw();
  };
  const onkeydown = (/** @type {KeyboardEvent} */ event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) kept.active = (kept.active + step + found.length) % Math.max(1, found.length);
    else if (event.key === "Enter" && active) run(active);
    else return;
    event.preventDefault();
    redraw();
  };
  const line = (/** @type {Command} */ command) =>
    html`<li id=${`command-${command.name}`} role="option" aria-selected=${command === active ? "true" : "false"} @click=${() => run(command)}>${name(command)}${keys(command)}</li>`;
  return html`<h2 id="dialog-title">${say("palette")}</h2>
    <input type="text" autocomplete="off" role="combobox" aria-expanded="true" aria-controls="palette-list" placeholder=${say("palette_hint")} aria-label=${say("palette_hint")}
      aria-activedescendant=${active ? `command-${active.name}` : nothing} @input=${oninput} @keydown=${onkeydown}>
    <ul id="palette-list" role="listbox" aria-label=${say("palette")}>${repeat(found, (command) => command.name, line)}</ul>
    ${found.length ? nothing : html`<p>${say("no_commands")}</p>`}`;
}

/** @param {Sheet} sheet */
export function help({ say, close, actions }) {
  const shown = actions.commands.filter((command) => command.keys.length);
  const line = (/** @type {Command} */ command) =>
    html`<div><dt>${keys(command)}</dt><dd>${say(`cmd_${command.name}`)}</dd></div>`;
  return html`${bar(say("help"), say, close)}
    <dl>${shown.map(line)}</dl>
    <p class="hint">${say("help_more")}</p>`;
}

/** @param {Command} command */
function keys(command) {
  return command.keys.map((key) => html` <kbd>${key === "Ctrl+Z" ? "Ctrl+Shift+z" : key}</kbd>`);
}
