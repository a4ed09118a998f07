// The palette finds turns, flows, files, tags and commands by what is typed; the sheet of keys lists the commands.

import { possible, shownKey } from "../commands.js";
import { html } from "../lib/lit.js";
import { bar } from "./bar.js";
import { picker, turnChoices, wanted } from "./picker.js";

/** @import { Command } from "../commands.js" */
/** @import { IconName } from "../lib/icon.js" */
/** @import { Sheet } from "./dialogs.js" */
/** @import { Choice } from "./picker.js" */

const MOST_ROWS = 10;
const MOST_OF_A_KIND = 3;
const FEW_OF_A_KIND = 2;
const LEAST_COMMANDS = 3;
const MOST_KEYS = 4;
/** @type {Record<string, IconName>} */
const SIGNS = { conversation: "square-pen", graph: "network", outline: "list-tree", page: "settings" };
/** @type {string[]} Names of commands, the last used first. */
const recent = [];

/** @param {Sheet} sheet */
export function palette(sheet) {
  const { say } = sheet;
  return html`<h2 id="dialog-title" class="hidden">${say("palette")}</h2>
    ${picker(sheet, say("palette"), say("palette_hint"), rowsFor(sheet))}`;
}

// Where something is typed, things and then commands; else what was used of late, the last turns, and the other commands.
/** @param {Sheet} sheet @returns {Choice[]} */
function rowsFor(sheet) {
  const { state, say, actions, kept, run } = sheet;
  const text = wanted(kept.text);
  const fits = (/** @type {string} */ words) => words.toLowerCase().includes(text);
  const rank = (/** @type {Command} */ { name }) => (recent.includes(name) ? recent.indexOf(name) : recent.length);
  const kind = (/** @type {Command} */ { name, group = "page" }) =>
    say(recent.includes(name) && !text ? "recent_command" : `group_${group}`);
  const act = (/** @type {Command} */ command) => () => {
    const known = recent.indexOf(command.name);
    if (known >= 0) recent.splice(known, 1);
    recent.unshift(command.name);
    run(command);
  };
  const commands = possible(actions.commands, state)
    .filter((command) => !command.byKeyOnly && command.name !== "palette" && fits(say(`cmd_${command.name}`)))
    .sort((/** @type {Command} */ one, /** @type {Command} */ other) => rank(one) - rank(other))
    .map((command) => ({
      id: `command-${command.name}`,
      sign: SIGNS[command.group ?? "page"],
      label: say(`cmd_${command.name}`),
      kind: kind(command),
      act: act(command),
      keys: keys(command),
    }));
  const used = text ? 0 : recent.length;
  const found = things(sheet, text).slice(0, MOST_ROWS - Math.min(LEAST_COMMANDS, commands.length));
  return [...commands.slice(0, used), ...found, ...commands.slice(used)].slice(0, MOST_ROWS);
}

/** @param {Sheet} sheet @param {string} text @returns {Choice[]} */
function things(sheet, text) {
  const { state, say, run } = sheet;
  const { choosing, files, loading, searching } = sheet.actions;
  const doing = (/** @type {() => void} */ act) => () => run({ name: "", keys: [], run: act });
  const thing = (
    /** @type {string} */ id,
    /** @type {IconName} */ sign,
    /** @type {string} */ label,
    /** @type {string} */ kind,
    /** @type {() => void} */ act,
  ) => ({ id, sign, label, kind, act: doing(act) });
  const turns = turnChoices(sheet, (id) => doing(() => choosing.open(id))()).slice(0, MOST_OF_A_KIND);
  if (!text) return turns;
  const fits = (/** @type {string} */ words) => words.toLowerCase().includes(text);
  const flows = state.flows
    .filter(({ name }) => fits(name))
    .map(({ id, name }) => thing(`flow-${id}`, "workflow", name, say("flow"), () => loading.chooseFlow(id)));
  const paths = state.found.text === text ? state.found.paths : [];
  const named = paths.map((path) => thing(`file-${path}`, "file", path, say("a_file"), () => files.lookAtLines(path)));
  const tags = [...new Set([...state.briefs.values()].flatMap((brief) => brief.tags ?? []))]
    .filter(fits)
    .map((tag) => thing(`tag-${tag}`, "tag", tag, say("tag"), () => searching.search("", { tag })));
  const [many, few] = [MOST_OF_A_KIND, FEW_OF_A_KIND];
  return [...turns, ...flows.slice(0, few), ...named.slice(0, many), ...tags.slice(0, few)];
}

/** @param {Sheet} sheet */
export function help({ say, close, actions }) {
  const shown = actions.commands.filter((command) => command.keys.length);
  const groups = [...new Set(shown.map(({ group = "page" }) => group))];
  const line = (/** @type {Command} */ command) =>
    html`<div><dt>${say(`cmd_${command.name}`)}</dt><dd>${keys(command)}</dd></div>`;
  const block = (/** @type {string} */ name) =>
    html`<section><h3>${say(`group_${name}`)}</h3><dl>${shown.filter(({ group = "page" }) => group === name).map(line)}</dl></section>`;
  return html`${bar(say("help"), say, close)}
    <div class="keys">${groups.map(block)}</div>
    <p class="hint">${say("help_more")}</p>`;
}

/** @param {Command} command */
function keys(command) {
  const shown = command.keys.length > MOST_KEYS ? [`${command.keys[0]}–${command.keys.at(-1)}`] : command.keys;
  return shown.map((key) => html` <kbd>${shownKey(key)}</kbd>`);
}
