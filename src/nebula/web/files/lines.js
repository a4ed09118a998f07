// A file as it is now, in the colours of its language; the turn of each line stands in the margin, one click away. Lines of
// one turn have one colour, wherever they stand.

import { bar } from "../dialogs/bar.js";
import { marked } from "../lib/diff.js";
import { element } from "../lib/dom.js";
import { colouredLines } from "../lib/highlight.js";
import { icon } from "../lib/icon.js";
import { guard, html, nothing } from "../lib/lit.js";
import { pathOf } from "../lib/path.js";
import { timeOf } from "../lib/time.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { LineRun } from "../state/state.js" */

const COLOURS = 6;
const MOST_NAMED = 6;

/** @param {Sheet} sheet */
export function fileLines({ state, say, actions, close }) {
  if (!state.lines) return nothing;
  const { path, lines, runs, total } = state.lines;
  const { lang } = state.view;
  const open = (/** @type {string} */ id) => () => {
    close();
    actions.choosing.open(id);
  };
  const turns = [...new Set(runs.flatMap((run) => run.node_id ?? []))];
  const hue = (/** @type {LineRun} */ { node_id: id, by }) =>
    id ? ` hue-${(turns.indexOf(id) % COLOURS) + 1}` : by === "before" ? "" : " others";
  const shown = codes(lines, path);
  const one = (/** @type {LineRun} */ run) => html`<section class="run${hue(run)}" aria-label=${placeOf(run, say)}>
    <p title=${titleOf(run)}>${
      run.node_id
        ? html`<button type="button" class="quiet" @click=${open(run.node_id)}>${nameOf(run, say)}</button>`
        : html`<span>${nameOf(run, say)}</span>`
    }${run.at ? html`<time>${timeOf(run.at, lang)}</time>` : nothing}</p>
    ${guard([shown, run], () => html`<ol start=${run.start_line} .style=${`counter-reset:line ${run.start_line - 1}`}>${shown.slice(run.start_line - 1, run.end_line).map((line) => html`<li>${line}</li>`)}</ol>`)}
  </section>`;
  const title = html`${icon("file")}${pathOf(path)}`;
  return html`${bar(title, say, close)}
    ${authors(runs, hue, say, open)}
    ${lines.length < total ? html`<p class="hint">${say("lines_cut", { count: lines.length, total })}</p>` : nothing}
    <div class="runs" tabindex="0" role="region" aria-label=${say("lines_of", { path })}>${runs.map(one)}</div>`;
}

// Who wrote how much of it: as one line in their colours, and by name, whoever wrote most first.
/** @param {LineRun[]} runs @param {(run: LineRun) => string} hue @param {Say} say @param {(id: string) => () => void} open */
function authors(runs, hue, say, open) {
  /** @type {Map<string, { run: LineRun, count: number }>} */
  const found = new Map();
  for (const run of runs) {
    const key = run.node_id ?? nameOf(run, say);
    const count = (found.get(key)?.count ?? 0) + run.end_line - run.start_line + 1;
    found.set(key, { run, count });
  }
  const most = [...found.values()].sort((one, other) => other.count - one.count);
  const share = (/** @type {{ run: LineRun, count: number }} */ { run, count }) =>
    html`<i class=${hue(run).trim() || nothing} .style=${`flex-grow:${count}`}></i>`;
  const one = (/** @type {{ run: LineRun, count: number }} */ { run, count }) => {
    const words = html`<i class=${hue(run).trim() || nothing}></i><span class="name">${nameOf(run, say)}</span><span class="count">${say("lines_count", { count })}</span>`;
    return html`<li>${run.node_id ? html`<button type="button" class="quiet small" @click=${open(run.node_id)}>${words}</button>` : words}</li>`;
  };
  return html`<div class="authors"><div class="shares" aria-hidden="true">${most.map(share)}</div>
    <ul>${most.slice(0, MOST_NAMED).map(one)}${most.length > MOST_NAMED ? html`<li>+${most.length - MOST_NAMED}</li>` : nothing}</ul></div>`;
}

/** @param {LineRun} run @param {Say} say */
function nameOf(run, say) {
  return run.node_id ? run.prompt || say("untitled") : run.tool || run.author || say(`lines_${run.by}`);
}

// Made once for a file, and coloured as soon as its language can be.
/** @type {WeakMap<string[], HTMLElement[]>} */
const made = new WeakMap();
/** @param {string[]} lines @param {string} path */
function codes(lines, path) {
  const known = made.get(lines);
  if (known) return known;
  const shown = lines.map((line) => element("code", {}, line));
  made.set(lines, shown);
  colouredLines(lines.join("\n"), path.slice(path.lastIndexOf(".") + 1).toLowerCase()).then((coloured) =>
    coloured?.forEach((pieces, place) => shown[place]?.replaceChildren(...marked(pieces))),
  );
  return shown;
}

/** @param {LineRun} run */
function titleOf(run) {
  return [run.model, run.at?.slice(0, 10), run.commit?.slice(0, 8), run.verified ? "✓" : ""]
    .filter(Boolean)
    .join(" · ");
}

/** @param {LineRun} run @param {Say} say */
function placeOf(run, say) {
  return say("lines_place", { from: run.start_line, to: run.end_line });
}
