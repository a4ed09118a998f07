// A change as it is reviewed: numbered lines in the colours of their language, the words that changed marked.
//
//   html`${diffOf(text, say, { path: "src/limits.py" })}`

import { element } from "./dom.js";
import { changedLines, changedWords, hunksOf, notesOf } from "./hunks.js";
import { colouredLines } from "./highlight.js";
import { guard, html } from "./lit.js";

/** @import { DiffLine, Hunk, Span } from "./hunks.js" */
/** @import { Piece } from "./highlight.js" */
/** @import { Say } from "./words.js" */

/** @param {string} text @param {Say} say @param {{ path?: string, placed?: boolean }} about `path` tells the language, `placed` whether it is known where the lines are. */
export function diffOf(text, say, { path = "", placed = true } = {}) {
  return guard([text, path, say], () => {
    const hunks = hunksOf(text);
    const isNamed = placed && !(hunks.length === 1 && isWhole(hunks[0]));
    const notes = notesOf(text).map((note) => element("span", { class: "place" }, note));
    const parts = hunks.flatMap((hunk) => [
      element("span", { class: "place" }, isNamed ? placeOf(hunk, say) : ""),
      ...linesOf(hunk, path),
    ]);
    const kind = placed ? "diff" : "diff unplaced";
    return element("pre", { class: kind, tabindex: "0", "aria-label": say("diff") }, ...notes, ...parts);
  });
}

// One hunk alone, for who names it themselves.
/** @param {Hunk} hunk @param {string} path @param {string} label */
export function hunkOf(hunk, path, label) {
  return element("pre", { class: "diff", tabindex: "0", "aria-label": label }, ...linesOf(hunk, path));
}

// A file that comes or goes: all of its lines, so that nobody has to be told which.
/** @param {Hunk} hunk */
const isWhole = ({ old, now }) => !old || !now;

/** @param {Hunk} hunk @param {Say} say */
export function placeOf(hunk, say) {
  const { from, to } = changedLines(hunk);
  return from === to ? say("line_at", { line: from }) : say("lines_at", { from, to });
}

// A command, an address, what a tool is called with: as it stands.
/** @param {string} text @param {string} label */
export function quoted(text, label) {
  return html`<pre class="quoted" tabindex="0" aria-label=${label}>${text}</pre>`;
}

/** @param {Hunk} hunk @param {string} path */
function linesOf({ lines }, path) {
  const marks = changedWords(lines);
  const codes = lines.map((line) => element("code", {}, ...marked([{ text: line.text, kind: "" }], marks.get(line))));
  colour(lines, codes, marks, path.slice(path.lastIndexOf(".") + 1).toLowerCase());
  return lines.map((line, place) =>
    element("span", { class: `line ${line.kind}`, "data-line": line.line || null }, codes[place], "\n"),
  );
}

// Both sides are coloured as wholes: a string that goes over lines is one on each.
/** @param {DiffLine[]} lines @param {HTMLElement[]} codes @param {Map<DiffLine, Span[]>} marks @param {string} language */
async function colour(lines, codes, marks, language) {
  for (const [side, other] of [
    ["removed", "added"],
    ["added", "removed"],
  ]) {
    const shown = lines.flatMap((line, place) => (line.kind === other || line.kind === "note" ? [] : [place]));
    const coloured = await colouredLines(shown.map((place) => lines[place].text).join("\n"), language);
    if (!coloured) return;
    shown.forEach((place, at) => {
      if (lines[place].kind === side || side === "added")
        codes[place].replaceChildren(...marked(coloured[at], marks.get(lines[place])));
    });
  }
}

/** @param {Piece[]} pieces @param {Span[]} spans @returns {Node[]} */
export function marked(pieces, spans = []) {
  let at = 0;
  return pieces.flatMap(({ text, kind }) => {
    const start = at;
    at += text.length;
    const cuts = spans.flat().filter((cut) => cut > start && cut < at);
    const edges = [start, ...cuts, at];
    return edges.slice(1).map((end, place) => {
      const from = edges[place];
      const part = text.slice(from - start, end - start);
      const changed = spans.some(([low, high]) => low <= from && end <= high);
      const shown = kind ? element("span", { class: kind }, part) : document.createTextNode(part);
      return changed ? element("span", { class: "word" }, shown) : shown;
    });
  });
}
