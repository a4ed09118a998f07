// Everything the reader can do without a pointer, in one table: keys, palette and help sheet read it. Each feature brings
// its own commands (its keys.js).
//
//   { name: "graph", keys: ["g"], run(state), when(state)? }
//
// `keys` are those of KeyboardEvent.key, with "Ctrl+" in front where that (or Command) is held. The words are `cmd_<name>`.

/** @import { State } from "./state/state.js" */
/** @typedef {{ name: string, keys: string[], run: (state: State, key?: string) => void, when?: (state: State) => boolean, byKeyOnly?: boolean, group?: string }} Command */

// Commands that belong together, as the palette names them.
/** @param {string} group @param {Command[]} commands @returns {Command[]} */
export const inGroup = (group, commands) => commands.map((command) => ({ ...command, group }));

export const isChosen = (/** @type {State} */ state) => state.selected !== null;

// What a command does with the chosen turn.
/** @param {(id: string) => void} act @returns {(state: State) => void} */
export const withChosen =
  (act) =>
  ({ selected }) => {
    if (selected !== null) act(selected);
  };

// As it stands on the keyboard.
/** @param {string} key */
export const shownKey = (key) => key.replace(/^(Ctrl\+)?([A-Z])$/, "$1Shift+$2").toLowerCase();

/** @param {Command[]} commands @param {State} state */
export function possible(commands, state) {
  return commands.filter((command) => !command.when || command.when(state));
}

/**
 * @param {Command[]} commands
 * @param {{ key: string, ctrlKey: boolean, metaKey: boolean, altKey: boolean, shiftKey: boolean }} event
 * @param {State} state
 */
export function commandFor(commands, event, state) {
  if (event.altKey) return null;
  const held = event.ctrlKey || event.metaKey;
  const pressed = held ? `Ctrl+${event.shiftKey ? event.key.toUpperCase() : event.key}` : event.key;
  return possible(commands, state).find((command) => command.keys.includes(pressed)) ?? null;
}
