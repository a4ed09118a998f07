// A model's answer as elements: the tokens of markdown-it become DOM one by one, so nothing it wrote is ever markup.
//
//   const shown = answer(text, { copy: "Copy", copied: "Copied" });

import { element } from "./dom.js";
import { formula, useFormulas } from "./formulas.js";
import { highlight, loadColours } from "./highlight.js";
import { fencesOf, inPieces, isLong } from "./plain.js";

const SAFE = new Set(["http:", "https:", "mailto:"]);
const ANSWERS_OWN = 2; // the heading "Answer"
const LONG_CELL = 24; // characters
const TAGS = new Set("p blockquote ul ol li em strong s a table thead tbody tr th td".split(" "));

/** @typedef {{ copy: string, copied: string, done?: string, todo?: string, open?: string, draw?: string, source?: string, link?: (word: string) => string | null }} Labels `link`: the address of a word that is a path. */
/** @typedef {{ type: string, tag: string, nesting: number, content: string, markup: string, info: string, hidden: boolean, children: Token[] | null, attrGet: (name: string) => string | null }} Token */

/** @type {{ parse: (text: string, environment: object) => Token[] } | null} */
let parser = null;

async function load() {
  const { default: MarkdownIt } = await import("../vendor/markdown-it/markdown-it.js");
  const markdown = /** @type {any} */ (new MarkdownIt({ html: false, linkify: true }));
  useFormulas(markdown);
  parser = markdown;
}

// Until the parser is there, and for what is very long, the text as it stands.
/** @param {string} text @param {Labels} labels */
export function answer(text, labels) {
  const shown = element("div", { class: "text" });
  if (isLong(text)) shown.append(...fencesOf(text).map((part) => longPart(part, labels)));
  else if (parser) shown.append(built(parser.parse(text, {}), labels));
  else {
    shown.append(text);
    load().then(() => parser && shown.replaceChildren(built(parser.parse(text, {}), labels)));
  }
  return shown;
}

/**
 * The same answer as its blocks one by one, once all of them have their colours.
 * @param {string} text @param {Labels} labels @returns {Promise<HTMLElement[]>}
 */
export async function blocksOf(text, labels) {
  if (isLong(text)) return fencesOf(text).map((part) => longPart(part, labels));
  if (!parser) await load();
  const tokens = parser?.parse(text, {}) ?? [];
  const fences = tokens.filter((token) => token.type === "fence");
  if (fences.length) await loadColours(fences.map(languageOf));
  return /** @type {HTMLElement[]} */ ([...built(tokens, labels).children]);
}

/** @param {Token} fence */
function languageOf({ info }) {
  return info.trim().split(/\s/)[0];
}

/** @param {ReturnType<typeof fencesOf>[number]} part @param {Labels} labels */
function longPart({ text, language }, labels) {
  return language === null ? element("div", { class: "plain" }, inPieces(text)) : code(text, language, labels);
}

/** @param {Token[]} tokens @param {Labels} labels */
function built(tokens, labels) {
  const root = document.createDocumentFragment();
  /** @type {(DocumentFragment | HTMLElement)[]} */
  const open = [root];
  const levels = headingLevels(tokens);
  tokens.forEach((token, place) => {
    const inside = open[open.length - 1];
    if (token.nesting === 1) {
      const made = opened(token, levels.get(token));
      inside.append(token.tag === "table" ? element("div", { class: "wide", tabindex: "0" }, made) : made);
      open.push(made);
    } else if (token.nesting === -1) {
      const done = open.pop();
      if (token.tag === "tr") widen(/** @type {HTMLElement} */ (done));
    } else {
      const task = tokens[place - 2]?.type === "list_item_open" ? TASK.exec(token.content) : null;
      if (task) inside.append(...ticked(token, task, /** @type {HTMLElement} */ (open[open.length - 2]), labels));
      inside.append(...leaf(token, labels));
    }
  });
  return root;
}

// A cell with a sentence in it is not squeezed to a word a line: the box around the table scrolls.
/** @param {HTMLElement} row */
function widen(row) {
  for (const cell of row.children) if (cell.textContent.length > LONG_CELL) cell.classList.add("long");
}

const TASK = /^\[([ xX])\]\s+/;

// The box of a task, for an item of a list that begins with one.
/** @param {Token} token @param {RegExpExecArray} task @param {HTMLElement} item @param {Labels} labels */
function ticked(token, [all, mark], item, labels) {
  const first = token.children?.[0];
  if (first?.type !== "text" || !first.content.startsWith(all.trimEnd())) return [];
  first.content = first.content.slice(all.trimEnd().length).trimStart();
  item.classList.add("task");
  const done = mark !== " ";
  const label = done ? labels.done : labels.todo;
  return [element("input", { type: "checkbox", disabled: true, checked: done, "aria-label": label ?? mark }), " "];
}

// Headings stand below that of the answer, and no level is passed over, whatever the model wrote.
/** @param {Token[]} tokens */
function headingLevels(tokens) {
  const headings = tokens.filter((token) => token.type === "heading_open");
  const ranks = [...new Set(headings.map((token) => token.tag))].sort();
  /** @type {Map<Token, number>} */
  const levels = new Map();
  let before = ANSWERS_OWN;
  for (const token of headings) {
    before = Math.min(ANSWERS_OWN + 1 + ranks.indexOf(token.tag), before + 1, 6);
    levels.set(token, before);
  }
  return levels;
}

/** @param {Token} token @param {number} [level] Of a heading. */
function opened(token, level) {
  if (level) return element(/** @type {"h3"} */ (`h${level}`));
  if (!TAGS.has(token.tag) || token.hidden) return element("span"); // hidden: an item of a list without blank lines
  if (token.tag === "a") return link(token.attrGet("href"), token.attrGet("title"));
  const start = token.tag === "ol" ? token.attrGet("start") : null;
  const align = /text-align:(center|right)/.exec(token.attrGet("style") ?? "")?.[1];
  return element(/** @type {"p"} */ (token.tag), { start, class: align });
}

// Only what a browser opens harmlessly; never in this tab, and without telling whence.
/** @param {string | null} address @param {string | null} title */
function link(address, title) {
  const url = address === null ? null : URL.parse(address, location.href);
  if (!url || !SAFE.has(url.protocol) || url.origin === location.origin)
    return element("span", { class: "link", title: address });
  return element("a", { href: url.href, title, rel: "noopener noreferrer", target: "_blank" });
}

/** @param {Token} token @param {Labels} labels @returns {(Node | string)[]} */
function leaf(token, labels) {
  switch (token.type) {
    case "inline":
      return [built(token.children ?? [], labels)];
    case "fence":
    case "code_block":
      return [code(token.content, languageOf(token), labels)];
    case "code_inline":
      return [inlineCode(token.content, labels)];
    case "formula":
      return [formula(token.content, token.markup === "$$")];
    case "hr":
      return [element("hr")];
    case "hardbreak":
      return [element("br")];
    case "softbreak":
      return ["\n"];
    case "image": // nothing is fetched because a model says so
      return [appended(link(token.attrGet("src"), null), token.content || (token.attrGet("src") ?? ""))];
    default:
      return [token.content];
  }
}

/** @param {string} text @param {Labels} labels */
function inlineCode(text, labels) {
  const href = labels.link?.(text);
  const shown = element("code", {}, text);
  return href ? element("a", { href, class: "open", title: labels.open }, shown) : shown;
}

/** @param {HTMLElement} parent @param {string} text */
function appended(parent, text) {
  parent.append(text);
  return parent;
}

/** @param {string} text @param {string} language @param {Labels} labels */
function code(text, language, labels) {
  const body = element("code", {}, isLong(text) ? inPieces(text) : text);
  if (language && !isLong(text)) highlight(body, text, language);
  const button = element("button", { type: "button", class: "copy", "data-copy": "" }, labels.copy);
  button.addEventListener("click", () => copied(button, text, labels));
  const source = element("pre", { tabindex: "0", "aria-label": language || null }, body);
  const about = element("div", { class: "about" }, element("span", {}, language), button);
  if (language === "mermaid" && labels.draw) offerDrawing(about, text, source, labels);
  return element("div", { class: "code" }, about, source);
}

// A diagram is drawn when it is asked for; whoever asks again has the source back. What draws comes with the first one.
/** @param {HTMLElement} about @param {string} text @param {HTMLElement} source @param {Labels} labels */
async function offerDrawing(about, text, source, labels) {
  const { drawingOf } = await import("./diagram/draw.js");
  const draw = drawingOf(text);
  if (!draw) return;
  /** @type {HTMLElement | null} */
  let drawn = null;
  const button = element("button", { type: "button", class: "copy draw" }, labels.draw);
  button.addEventListener("click", () => {
    drawn ??= element("figure", { class: "drawing", tabindex: "0", "aria-label": text }, draw());
    const shown = drawn.isConnected;
    if (shown) drawn.replaceWith(source);
    else source.replaceWith(drawn);
    button.textContent = (shown ? labels.draw : labels.source) ?? "";
  });
  about.lastElementChild?.before(button);
}

/** @param {HTMLElement} button @param {string} text @param {Labels} labels */
export async function copied(button, text, labels) {
  await navigator.clipboard.writeText(text);
  button.textContent = labels.copied;
  setTimeout(() => (button.textContent = labels.copy), 2000);
}
