// What the page says, in both languages. `{name}` is filled in; of `{name|turn|turns}` the first is for one, the second else.

import { EN } from "./words/en.js";
import { EN_GRAPH } from "./words/en_graph.js";
import { EN_SHEETS } from "./words/en_sheets.js";
import { JA } from "./words/ja.js";
import { JA_GRAPH } from "./words/ja_graph.js";
import { JA_SHEETS } from "./words/ja_sheets.js";

/** @typedef {(key: string, values?: Record<string, any>) => string} Say */

/** @type {Record<string, Record<string, string>[]>} Put together for the language that is spoken. */
const WORDS = { en: [EN, EN_GRAPH, EN_SHEETS], ja: [JA, JA_GRAPH, JA_SHEETS] };

export const languages = Object.keys(WORDS);

/** @param {string} lang @returns {Say} */
export function speaker(lang) {
  const words = wordsOf(lang in WORDS ? lang : "en");
  return (key, values = {}) =>
    words[key].replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name, one, several) =>
      String(one === undefined ? values[name] : values[name] === 1 ? one : several),
    );
}

/** @param {string} lang @returns {Record<string, string>} */
const wordsOf = (lang) => Object.assign({}, ...WORDS[lang]);

// Both languages must say the same things; a test asks.
export function missingWords() {
  const all = new Set(Object.values(WORDS).flat().flatMap(Object.keys));
  const missing = (/** @type {string} */ lang) => {
    const words = wordsOf(lang);
    return [...all].filter((key) => !(key in words)).map((key) => `${lang}:${key}`);
  };
  return languages.flatMap(missing);
}
