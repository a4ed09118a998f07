// Colours in code: highlight.js says which part is what, and elements are made of that. A language is loaded with the first
// code in it, with those that may stand inside it.

import { element } from "./dom.js";

const LONGEST = 50_000;

/** @type {Promise<void> | null} */
let beginning = null;
/** @type {any} */
let ready = null;
/** @type {typeof import("../vendor/highlight/languages.js")} */
let languages;
/** @type {Map<string, Promise<void>>} */
const loading = new Map();

/** @typedef {{ text: string, kind: string }} Piece Of a line; `kind` are the classes that give it its colour. */

/** @param {string[]} names Of languages, as people write them. */
export async function loadColours(names) {
  beginning ??= begin();
  await beginning;
  await Promise.all(names.map(loadLanguage));
}

async function begin() {
  const [{ default: found }, known] = await Promise.all([
    import("../vendor/highlight/highlight.js"),
    import("../vendor/highlight/languages.js"),
  ]);
  found.configure({ __emitter: Emitter });
  [ready, languages] = [found, known];
}

/** @param {string} written @returns {Promise<void>} */
function loadLanguage(written) {
  const name = languages.NAMES[written.toLowerCase()];
  if (typeof name !== "string") return Promise.resolve();
  const known = loading.get(name);
  if (known) return known;
  const grammar = languages.load(name).then((found) => ready.registerLanguage(name, found.default));
  loading.set(name, grammar); // before its inner ones, some of which may hold it in turn
  const whole = Promise.all([grammar, ...(languages.INNER[name] ?? []).map(loadLanguage)]).then(() => {});
  loading.set(name, whole);
  return whole;
}

/** @param {HTMLElement} body @param {string} text @param {string} language */
export function highlight(body, text, language) {
  if (text.length > LONGEST) return;
  if (ready?.getLanguage(language)) colour(body, text, language);
  else loadColours([language]).then(() => colour(body, text, language));
}

/**
 * The lines of a text, each in pieces of one colour; null where the language is not known.
 * @param {string} text @param {string} language @returns {Promise<Piece[][] | null>}
 */
export async function colouredLines(text, language) {
  if (!language || text.length > LONGEST) return null;
  await loadColours([language]);
  if (!ready.getLanguage(language)) return null;
  /** @type {Piece[][]} */
  const lines = [[]];
  const walk = (/** @type {Node} */ node, /** @type {string} */ kind) => {
    if (node instanceof Text)
      node.data.split("\n").forEach((part, place) => {
        if (place) lines.push([]);
        if (part) lines[lines.length - 1].push({ text: part, kind });
      });
    else for (const child of node.childNodes) walk(child, node instanceof HTMLElement ? node.className : kind);
  };
  walk(ready.highlight(text, { language, ignoreIllegals: true })._emitter.root, "");
  return lines;
}

/** @param {HTMLElement} body @param {string} text @param {string} language */
function colour(body, text, language) {
  if (!ready.getLanguage(language)) return;
  body.replaceChildren(ready.highlight(text, { language, ignoreIllegals: true })._emitter.root);
}

// What highlight.js tells its findings to; its own would make a string of markup.
class Emitter {
  constructor() {
    this.root = document.createDocumentFragment();
    /** @type {(DocumentFragment | HTMLElement)[]} */
    this.open = [this.root];
  }

  /** @param {string} text */
  addText(text) {
    if (text) this.open[this.open.length - 1].append(text);
  }

  /** @param {string} scope */
  openNode(scope) {
    this.startScope(scope);
  }

  closeNode() {
    this.endScope();
  }

  /** @param {string} scope */
  startScope(scope) {
    const made = element("span", {
      class: scope
        .split(".")
        .map((part, depth) => (depth ? part : `hl-${part}`))
        .join(" "),
    });
    this.open[this.open.length - 1].append(made);
    this.open.push(made);
  }

  endScope() {
    if (this.open.length > 1) this.open.pop();
  }

  /** @param {Emitter} other @param {string} name */
  __addSublanguage(other, name) {
    this.open[this.open.length - 1].append(element("span", { class: `language-${name ?? ""}` }, other.root));
  }

  finalize() {
    this.open = [this.root];
  }

  toHTML() {
    return "";
  }
}
