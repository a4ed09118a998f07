// Formulas in answers: found by markdown-it between `$…$`, `$$…$$`, `\\(…\\)` and `\\[…\\]`, drawn as MathML by KaTeX, which is
// loaded with the first of them. One that it does not understand stands as it was written.

import { element } from "./dom.js";

const OPTIONS = { output: "mathml", throwOnError: true, strict: "ignore", trust: false, maxSize: 20, maxExpand: 500 };
const LONGEST = 5000;
/** @type {[string, string, boolean][]} */
const MARKS = [
  ["$$", "$$", true],
  ["\\[", "\\]", true],
  ["\\(", "\\)", false],
  ["$", "$", false],
];

/** @type {Promise<unknown> | null} */
let loading = null;

/** @param {any} markdown A parser of markdown-it. */
export function useFormulas(markdown) {
  markdown.inline.ruler.before("escape", "formula", inline);
  markdown.block.ruler.before("fence", "formula", block, { alt: ["paragraph", "blockquote", "list"] });
}

// A sum of money is none: what stands next to a single dollar sign is no space, and behind the second one no digit.
/** @param {string} text @param {number} at @returns {{ tex: string, display: boolean, end: number } | null} */
export function formulaAt(text, at) {
  const mark = MARKS.find(([open]) => text.startsWith(open, at));
  if (!mark) return null;
  const [open, close, display] = mark;
  const start = at + open.length;
  const stop = text.indexOf(close, start);
  const tex = text.slice(start, stop);
  if (stop < 0 || !tex.trim() || tex.length > LONGEST || /\n\s*\n/.test(tex)) return null;
  const end = stop + close.length;
  if (open === "$" && (/^\s|\s$|\n/.test(tex) || /\d/.test(text[end] ?? ""))) return null;
  return { tex: tex.trim(), display, end };
}

/** @param {any} state @param {boolean} silent */
function inline(state, silent) {
  const found = formulaAt(state.src, state.pos);
  if (!found || found.end > state.posMax) return false;
  if (!silent) push(state, found);
  state.pos = found.end;
  return true;
}

// One that stands alone, over as many lines as it likes.
/** @param {any} state @param {number} first @param {number} last @param {boolean} silent */
function block(state, first, last, silent) {
  const start = state.bMarks[first] + state.tShift[first];
  const found = formulaAt(state.src.slice(0, state.eMarks[last - 1]), start);
  if (!found?.display) return false;
  let line = first;
  while (line < last && state.eMarks[line] < found.end) line++;
  if (state.src.slice(found.end, state.eMarks[line]).trim()) return false;
  if (!silent) push(state, found);
  state.line = line + 1;
  return true;
}

/** @param {any} state @param {{ tex: string, display: boolean }} found */
function push(state, { tex, display }) {
  const token = state.push("formula", "", 0);
  token.content = tex;
  token.markup = display ? "$$" : "$";
}

/** @param {string} tex @param {boolean} display */
export function formula(tex, display) {
  const shown = element(
    "span",
    { class: display ? "formula display" : "formula", tabindex: display ? "0" : null },
    tex,
  );
  loading ??= import("../vendor/katex/katex.js");
  loading.then(() => draw(shown, tex, display));
  return shown;
}

/** @param {HTMLElement} shown @param {string} tex @param {boolean} display */
function draw(shown, tex, display) {
  const drawn = element("span");
  try {
    globalThis.katex.render(tex, drawn, { ...OPTIONS, displayMode: display });
  } catch {
    return; // it stands as it was written
  }
  shown.replaceChildren(...drawn.childNodes);
}
