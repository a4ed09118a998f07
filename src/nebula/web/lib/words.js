// What the page says, in both languages. `{name}` is filled in.

import { EN } from "./words/en.js";
import { JA } from "./words/ja.js";

/** @typedef {(key: string, values?: Record<string, any>) => string} Say */

/** @type {Record<string, Record<string, string>>} */
const WORDS = { en: EN, ja: JA };

export const languages = Object.keys(WORDS);

/** @param {string} lang @returns {Say} */
export function speaker(lang) {
  const words = WORDS[lang] ?? WORDS.en;
  return (key, values = {}) => words[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

// Both languages must say the same things; a test asks.
export function missingWords() {
  const all = new Set(Object.values(WORDS).flatMap(Object.keys));
  return languages.flatMap((lang) => [...all].filter((key) => !(key in WORDS[lang])).map((key) => `${lang}:${key}`));
}
