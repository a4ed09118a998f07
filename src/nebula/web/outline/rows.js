// One line of the outline, and what keys do in the list.

import { NODE } from "../composer/composer.js";
import { stateOf, titleOf } from "../graph/live.js";
import { SIGNS } from "../graph/overlay.js";
import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { marked } from "../lib/marked.js";
import { timeOf, timeOfDay } from "../lib/time.js";
import { nameOfDay } from "./days.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { Live } from "../graph/live.js" */
/** @import { IconName } from "../lib/icon.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { State } from "../state/state.js" */
/** @import { Row, Rows } from "./lines.js" */

const DEEPEST = 12;

/** @param {string} id */
export function rowId(id) {
  return `row-${id}`;
}

/** @param {State} state @param {Say} say @param {Row} row @param {number} top @param {boolean} active */
export function drawRow(state, say, row, top, active) {
  if (row.live) return liveRow(state, say, row, row.live, top);
  if (row.day)
    return html`<div class="day" aria-hidden="true" .style=${`top:${top}px`}>${nameOfDay(row.day, state.view.lang)}</div>`;
  const brief = state.briefs.get(row.id);
  const selected = row.id === state.selected;
  const name = (/** @type {string} */ id) => state.briefs.get(id)?.title || "…";
  const known = brief?.problem
    ? say("unreadable", { problem: brief.problem })
    : brief?.title || brief?.summary || say("untitled");
  const picked = state.merging.includes(row.id);
  const classes = `row ${row.kind}${selected ? " selected" : ""}${picked ? " picked" : ""}${active ? " active" : ""}`;
  const words = row.kind === "branch" ? "branch_from" : row.kind === "try" ? "try_beside" : "";
  const branch = words && say(words, { title: name(row.from ?? "") });
  const named = state.flow.branches?.[row.id] ?? "";
  const titles = row.merges.map(name).join(", ");
  const merge = row.merges.length ? say("merges", { titles }) : "";

  const title = brief ? marked(known, state.search.hits ? state.search.text : "") : "…";
  const clock = state.search.hits ? timeOf : timeOfDay; // hits do not stand below their day
  const when = brief?.timestamp ? clock(brief.timestamp, state.view.lang) : "";
  const shown = row.kind === "start" || row.kind === "try" || state.search.hits ? when : ""; // turns follow closely
  const about = [brief?.summary, branch, merge, when].filter(Boolean).join(" · ");
  const count = (/** @type {IconName} */ sign, /** @type {number | undefined} */ number) =>
    number && html`<span class="badge">${icon(sign)}${number}</span>`;
  const marks = [
    named && html`<span class="badge named">${named}</span>`,
    merge && html`${icon("git-merge")}<span class="hidden">${merge}</span>`,
    count("git-branch", row.branches),
    count("file-diff", brief?.files),
    brief?.pinned && icon("pin"),
    brief?.note && icon("sticky-note"),
    state.flow.opens?.[row.id] && icon("workflow"),
  ].filter(Boolean);
  return html`<div id=${rowId(row.id)} class=${classes} role="treeitem" data-id=${row.id} aria-level=${row.level} aria-selected=${selected || picked ? "true" : "false"} draggable="true"
    aria-expanded=${row.holds ? String(!row.folded) : nothing} title=${about || nothing}
    .style=${`top:${top}px;--level:${Math.min(row.level, DEEPEST) - 1}`}><span class="fold">${row.holds ? icon("chevron-down") : nothing}</span>${branch ? html`${icon("corner-down-right")}<span class="hidden">${branch}</span>` : nothing}<span class="title">${title}</span><span class="marks">${marks}</span>${shown ? html`<time class="badge" aria-hidden="true">${shown}</time>` : nothing}</div>`;
}

/** @param {State} state @param {Say} say @param {Row} row @param {Live} live @param {number} top */
function liveRow(state, say, row, live, top) {
  const doing = stateOf(live, say);
  const here = state.turn === row.id ? " here" : "";
  return html`<div id=${rowId(row.id)} class="row live ${live.kind}${here}" role="treeitem" data-id=${row.id} aria-level=${row.level} aria-selected="false" title=${doing}
    .style=${`top:${top}px;--level:${Math.min(row.level, DEEPEST) - 1}`}><span class="fold">${icon(SIGNS[live.kind])}</span><span class="hidden">${doing}: </span><span class="title">${titleOf(live, say)}</span></div>`;
}

/** @param {Event} event @returns {HTMLElement | null} */
export function rowOf(event) {
  return event.target instanceof Element ? event.target.closest(".row") : null;
}

// A row dragged to the prompt goes along as a reference.
/** @param {DragEvent} event */
export function ondrag(event) {
  const row = rowOf(event);
  if (row) event.dataTransfer?.setData(NODE, row.dataset.id ?? "");
}

/** @param {KeyboardEvent} event @param {Rows} rows @param {number} active @param {string | null} selected @param {Choosing} choosing */
export function onRowKey(event, rows, active, selected, { open, fold, step }) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const here = rows.at(active);
  // A turn at work is seen with the turn that it continues, and a day is no turn: the next one that way, else the last.
  const go = (/** @type {number} */ place) => {
    const way = place > active ? 1 : -1;
    const wanted = Math.max(0, Math.min(place, rows.length - 1));
    const isTurn = (/** @type {Row | undefined} */ row) => row && !row.live && !row.day;
    for (const by of [way, -way]) {
      let to = wanted;
      while (rows.at(to) && !isTurn(rows.at(to))) to += by;
      const found = rows.at(to);
      if (found) return step(found.id);
    }
  };
  const outward = () => {
    let place = active - 1;
    while (place > 0 && (rows.at(place)?.level ?? 0) >= (here?.level ?? 0)) place--;
    go(place);
  };
  /** @type {Record<string, () => void>} */
  const keys = {
    ArrowDown: () => go(here?.id === selected ? active + 1 : active),
    ArrowUp: () => go(active - 1),
    Home: () => go(0),
    End: () => go(rows.length - 1),
    PageDown: () => go(active + 10),
    PageUp: () => go(active - 10),
    Enter: () => here && !here.live && !here.day && open(here.id),
    " ": () => go(active),
    ArrowRight: () => here?.holds && (here.folded ? fold(here.id, false) : go(active + 1)),
    ArrowLeft: () => here && (here.holds && !here.folded ? fold(here.id, true) : outward()),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}
