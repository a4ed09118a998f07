// What is typed after a slash, and which commands it may become.

/** @import { SlashCommand } from "../state/state.js" */

const MOST_ROWS = 8;

/** @param {string} text Whether it may name a command; only the server knows. */
export function isTypedCommand(text) {
  return /^\/[\w?]/.test(text);
}

// Those that begin so before those that have it somewhere; none once something follows the name.
/** @param {SlashCommand[]} commands @param {string} text */
export function offeredFor(commands, text) {
  const typed = /^\/(\S*)$/.exec(text);
  if (!typed) return [];
  const wanted = typed[1].toLowerCase();
  const begins = commands.filter(({ name }) => name.toLowerCase().startsWith(wanted));
  const has = commands.filter((each) => !begins.includes(each) && each.name.toLowerCase().includes(wanted));
  return [...begins, ...has].slice(0, MOST_ROWS);
}
