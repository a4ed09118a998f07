// The palette finds turns, flows, tags and commands by what is typed; the sheet of keys lists the commands.

import { possible } from "../commands.js";
import { valueOf } from "../lib/dom.js";
import { icon } from "../lib/icon.js";
import { html, nothing, repeat } from "../lib/lit.js";
import { bar } from "./bar.js";

/** @import { Command } from "../commands.js" */
/** @import { IconName } from "../lib/icon.js" */
/** @import { Sheet } from "./dialogs.js" */
/** @typedef {{ id: string, sign: IconName, label: string, kind: string, command: Command }} Row */

const MOST_ROWS = 10;
const MOST_OF_A_KIND = 4;
/** @type {string[]} Names of commands, the last used first. */
const recent = [];

/** @param {Sheet} sheet */
export function palette(sheet) {
  const { say, kept, redraw } = sheet;
  const rows = rowsFor(sheet);
  const active = rows[kept.active];
  const run = (/** @type {Row} */ { command }) => {
    const known = recent.indexOf(command.name);
    if (known >= 0) recent.splice(known, 1);
    recent.unshift(command.name);
    sheet.run(command);
  };
  const oninput = (/** @type {Event} */ event) => {
    Object.assign(kept, { text: valueOf(event), active: 0 });
    redraw();
  };
  const onkeydown = (/** @type {KeyboardEvent} */ event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) kept.active = (kept.active + step + rows.length) % Math.max(1, rows.length);
    else if (event.key === "Enter" && active) run(active);
    else return;
    event.preventDefault();
    redraw();
  };
  const line = (/** @type {Row} */ row) =>
    html`<li id=${row.id} role="option" aria-selected=${row === active ? "true" : "false"} @click=${() => run(row)}>${icon(row.sign)}<span class="label">${row.label}</span><span class="kind">${row.kind}</span>${keys(row.command)}</li>`;
  return html`<h2 id="dialog-title" class="hidden">${say("palette")}</h2>
    <input type="text" autocomplete="off" role="combobox" aria-expanded="true" aria-controls="palette-list" placeholder=${say("palette_hint")} aria-label=${say("palette_hint")}
      aria-activedescendant=${active ? active.id : nothing} @input=${oninput} @keydown=${onkeydown}>
    <ul id="palette-list" role="listbox" aria-label=${say("palette")}>${repeat(rows, (row) => row.id, line)}</ul>
    ${rows.length ? nothing : html`<p>${say("no_commands")}</p>`}`;
}

// Things first where something is typed, then commands; those used of late stand before the others.
/** @param {Sheet} sheet @returns {Row[]} */
function rowsFor({ state, say, actions, kept }) {
  const wanted = kept.text.trim().toLowerCase();
  const fits = (/** @type {string} */ text) => text.toLowerCase().includes(wanted);
  const rank = (/** @type {Command} */ { name }) => (recent.includes(name) ? recent.indexOf(name) : recent.length);
  const commands = possible(actions.commands, state)
    .filter((command) => !command.byKeyOnly && command.name !== "palette" && fits(say(`cmd_${command.name}`)))
    .sort((/** @type {Command} */ one, /** @type {Command} */ other) => rank(one) - rank(other))
    .map((command) => rowOf(`command-${command.name}`, "arrow-right", say(`cmd_${command.name}`), "", command));
  return [...(wanted ? things(state, say, actions, fits) : []), ...commands].slice(0, MOST_ROWS);
}

/** @param {Sheet["state"]} state @param {Sheet["say"]} say @param {Sheet["actions"]} actions @param {(text: string) => boolean} fits @returns {Row[]} */
function things(state, say, { choosing, loading, searching }, fits) {
  const act = (/** @type {() => void} */ run) => ({ name: "", keys: [], run });
  const known = new Set(state.flow.nodes);
  const turns = [...state.briefs.values()]
    .filter(({ id, title = "" }) => fits(title) && known.has(id))
    .slice(-MOST_OF_A_KIND)
    .reverse()
    .map(({ id, title = "" }) =>
      rowOf(
        `turn-${id}`,
        "message-square",
        title,
        say("a_turn"),
        act(() => choosing.open(id)),
      ),
    );
  const flows = state.flows
    .filter(({ name }) => fits(name))
    .slice(0, MOST_OF_A_KIND)
    .map(({ id, name }) =>
      rowOf(
        `flow-${id}`,
        "workflow",
        name,
        say("flow"),
        act(() => loading.chooseFlow(id)),
      ),
    );
  const tags = [...new Set([...state.briefs.values()].flatMap((brief) => brief.tags ?? []))]
    .filter(fits)
    .slice(0, MOST_OF_A_KIND)
    .map((tag) =>
      rowOf(
        `tag-${tag}`,
        "tag",
        tag,
        say("tag"),
        act(() => searching.search("", { tag })),
      ),
    );
  return [...turns, ...flows, ...tags];
}

/** @param {string} id @param {IconName} sign @param {string} label @param {string} kind @param {Command} command @returns {Row} */
function rowOf(id, sign, label, kind, command) {
  return { id, sign, label, kind, command };
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
