// The palette finds turns, flows, files, tags and commands by what is typed; the sheet of keys lists the commands.

import { possible } from "../commands.js";
import { valueOf } from "../lib/dom.js";
import { icon } from "../lib/icon.js";
import { html, nothing, repeat } from "../lib/lit.js";
import { bar } from "./bar.js";

/** @import { Command } from "../commands.js" */
/** @import { IconName } from "../lib/icon.js" */
/** @import { State } from "../state/state.js" */
/** @import { Sheet } from "./dialogs.js" */
/** @typedef {{ id: string, sign: IconName, label: string, kind: string, command: Command }} Row */

const MOST_ROWS = 10;
const MOST_OF_A_KIND = 3;
const FEW_OF_A_KIND = 2;
const LEAST_COMMANDS = 3;
const NOTHING_FOUND = { nodes: [], paths: [] };
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
    if (command.name) recent.unshift(command.name);
    sheet.run(command);
  };
  const oninput = (/** @type {Event} */ event) => {
    Object.assign(kept, { text: valueOf(event), active: 0 });
    redraw();
    sheet.actions.files.find(kept.text.trim().toLowerCase());
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

// Things first where something is typed, then commands by group; those used of late stand before the others.
/** @param {Sheet} sheet @returns {Row[]} */
function rowsFor({ state, say, actions, kept }) {
  const wanted = kept.text.trim().toLowerCase();
  const fits = (/** @type {string} */ text) => text.toLowerCase().includes(wanted);
  const rank = (/** @type {Command} */ { name }) => (recent.includes(name) ? recent.indexOf(name) : recent.length);
  const kind = (/** @type {Command} */ { name, group = "page" }) =>
    say(recent.includes(name) && !wanted ? "recent_command" : `group_${group}`);
  const commands = possible(actions.commands, state)
    .filter((command) => !command.byKeyOnly && command.name !== "palette" && fits(say(`cmd_${command.name}`)))
    .sort((/** @type {Command} */ one, /** @type {Command} */ other) => rank(one) - rank(other))
    .map((command) =>
      rowOf(`command-${command.name}`, "arrow-right", say(`cmd_${command.name}`), kind(command), command),
    );
  const said = state.found; // read here each time, so that what comes later is drawn
  const found = wanted ? things(state, say, actions, wanted, said.text === wanted ? said : NOTHING_FOUND) : [];
  return [...found.slice(0, MOST_ROWS - Math.min(LEAST_COMMANDS, commands.length)), ...commands].slice(0, MOST_ROWS);
}

/** @param {Sheet["state"]} state @param {Sheet["say"]} say @param {Sheet["actions"]} actions @param {string} wanted @param {Pick<State["found"], "nodes" | "paths">} said What the server found. @returns {Row[]} */
function things(state, say, { choosing, files, loading, searching }, wanted, said) {
  const fits = (/** @type {string} */ text) => text.toLowerCase().includes(wanted);
  const known = new Set(state.flow.nodes);
  const briefs = [...state.briefs.values()];
  const titled = briefs.filter(({ title = "" }) => fits(title)).reverse();
  const turns = [...new Map([...titled, ...said.nodes].map((brief) => [brief.id, brief])).values()]
    .filter(({ id }) => known.has(id))
    .map(({ id, title = "" }) => thing(`turn-${id}`, "message-square", title, say("a_turn"), () => choosing.open(id)));
  const flows = state.flows
    .filter(({ name }) => fits(name))
    .map(({ id, name }) => thing(`flow-${id}`, "workflow", name, say("flow"), () => loading.chooseFlow(id)));
  const look = (/** @type {string} */ path) => () => files.lookAtLines(path);
  const named = said.paths.map((path) => thing(`file-${path}`, "file", path, say("a_file"), look(path)));
  const tags = [...new Set(briefs.flatMap((brief) => brief.tags ?? []))]
    .filter(fits)
    .map((tag) => thing(`tag-${tag}`, "tag", tag, say("tag"), () => searching.search("", { tag })));
  const [many, few] = [MOST_OF_A_KIND, FEW_OF_A_KIND];
  return [...turns.slice(0, many), ...flows.slice(0, few), ...named.slice(0, many), ...tags.slice(0, few)];
}

/** @param {string} id @param {IconName} sign @param {string} label @param {string} kind @param {() => void} run @returns {Row} */
function thing(id, sign, label, kind, run) {
  return rowOf(id, sign, label, kind, { name: "", keys: [], run });
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
