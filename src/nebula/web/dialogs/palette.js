// The command palette and the sheet of keys, both out of the table of commands.

import { COMMANDS, possible } from "../commands.js";
import { html, nothing, repeat } from "../lib/lit.js";
import { bar } from "./bar.js";

export function palette({ state, say, kept, redraw, run }) {
  const wanted = (kept.text ?? "").toLowerCase();
  const found = possible(state).filter((command) => say(`cmd_${command.name}`).toLowerCase().includes(wanted));
  const active = found[kept.active ?? 0];
  const oninput = (event) => {
    Object.assign(kept, { text: event.target.value, active: 0 });
    redraw();
  };
  const onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) kept.active = ((kept.active ?? 0) + step + found.length) % Math.max(1, found.length);
    else if (event.key === "Enter" && active) run(active);
    else return;
    event.preventDefault();
    redraw();
  };
  return html`<h2 id="dialog-title">${say("palette")}</h2>
    <input type="text" autocomplete="off" role="combobox" aria-expanded="true" aria-controls="palette-list" placeholder=${say("palette_hint")} aria-label=${say("palette_hint")}
      aria-activedescendant=${active ? `command-${active.name}` : nothing} @input=${oninput} @keydown=${onkeydown}>
    <ul id="palette-list" role="listbox" aria-label=${say("palette")}>
      ${repeat(
        found,
        (command) => command.name,
        (command) =>
          html`<li id=${`command-${command.name}`} role="option" aria-selected=${command === active ? "true" : "false"} @click=${() => run(command)}>${say(`cmd_${command.name}`)}${keys(command)}</li>`,
      )}
    </ul>
    ${found.length ? nothing : html`<p>${say("no_commands")}</p>`}`;
}

export function help({ say, close }) {
  const shown = COMMANDS.filter((command) => command.keys.length);
  return html`${bar(say("help"), say, close)}
    <dl>${shown.map((command) => html`<div><dt>${keys(command)}</dt><dd>${say(`cmd_${command.name}`)}</dd></div>`)}</dl>
    <p class="hint">${say("help_more")}</p>`;
}

function keys(command) {
  return command.keys.map((key) => html` <kbd>${key === "Ctrl+Z" ? "Ctrl+Shift+z" : key}</kbd>`);
}
