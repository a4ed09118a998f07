// What is typed after a slash or an `@`, and which commands it may become.

/** @import { SlashCommand } from "../state/state.js" */

export const MOST_ROWS = 8;
/** @type {SlashCommand[]} What is no prompt, where a model writes. */
export const OWN = [{ name: "permissions", about: "", usage: "revoke [NAME]", owner: "page" }];

/** @param {string} text Whether it may name a command; only the server knows. */
export function isTypedCommand(text) {
  return /^\/[\w?]/.test(text);
}

// The part of a path that is being typed after an `@`; null where none is.
/** @param {string} text @param {number} caret */
export function pathTyped(text, caret) {
  return /(?<![0-9A-Za-z_@.])@([^\s"@]+)$/.exec(text.slice(0, caret))?.[1] ?? null;
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
