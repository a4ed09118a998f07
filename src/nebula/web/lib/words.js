// What the page says, in both languages. `{name}` is filled in; of `{name|turn|turns}` the first is for one, the second else.

import { EN } from "./words/en.js";
import { EN_GRAPH } from "./words/en_graph.js";
import { EN_SHEETS } from "./words/en_sheets.js";
import { JA } from "./words/ja.js";
import { JA_GRAPH } from "./words/ja_graph.js";
import { JA_SHEETS } from "./words/ja_sheets.js";

/** @typedef {(key: string, values?: Record<string, any>) => string} Say */

/** @type {Record<string, Record<string, string>>} */
const WORDS = { en: { ...EN, ...EN_GRAPH, ...EN_SHEETS }, ja: { ...JA, ...JA_GRAPH, ...JA_SHEETS } };

export const languages = Object.keys(WORDS);

/** @param {string} lang @returns {Say} */
export function speaker(lang) {
  const words = WORDS[lang] ?? WORDS.en;
  return (key, values = {}) =>
    words[key].replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name, one, several) =>
      String(one === undefined ? values[name] : values[name] === 1 ? one : several),
    );
}

// Both languages must say the same things; a test asks.
export function missingWords() {
  const all = new Set(Object.values(WORDS).flatMap(Object.keys));
  return languages.flatMap((lang) => [...all].filter((key) => !(key in WORDS[lang])).map((key) => `${lang}:${key}`));
}
