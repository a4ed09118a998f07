// The outline: search on top, below it the flow as a tree. Only the rows in sight are elements.

import { isEnter, valueOf } from "../lib/dom.js";
import { icon } from "../lib/icon.js";
import { html, nothing, render, repeat } from "../lib/lit.js";
import { filterButton, filters } from "./filters.js";
import { Rows } from "./lines.js";
import { drawRow, ondrag, onRowKey, rowId, rowOf } from "./rows.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Loading } from "../server/loading.js" */
/** @import { Selectors } from "../state/selectors.js" */
/** @import { State } from "../state/state.js" */
/** @import { Row } from "./lines.js" */
/** @import { Searching } from "./searching.js" */
/** @import { Summaries } from "./summaries.js" */
/**
 * @typedef {object} OutlineActions
 * @property {Choosing} choosing
 * @property {Searching} searching
 * @property {Summaries} summaries
 * @property {Loading} loading
 * @property {Selectors} selectors
 * @property {() => void} start
 */
/**
 * @typedef {object} OutlineView What it keeps between two drawings.
 * @property {Rows} rows
 * @property {number} active
 * @property {State["search"] | null} search
 * @property {number} before Where the list was before the search.
 * @property {string | null} selected
 * @property {string | null} turn The turn at work that was brought into sight last.
 * @property {number} height Of a row.
 * @property {number} room For so many pixels of rows, or more, there is room.
 * @property {string} tall
 */

const ROWS_BEYOND = 8; // drawn out of sight on either side, so that a quick hand sees no blanks
const SEARCH_AFTER_MS = 200;

/** @param {HTMLElement} root @param {OutlineActions} actions @param {{ readonly state: State }} store */
export function createOutline(root, actions, store) {
  const { choosing, searching, loading, selectors } = actions;
  /** @type {OutlineView} */
  const view = {
    rows: new Rows([]),
    active: 0,
    search: null,
    before: 0,
    selected: null,
    turn: null,
    height: parseFloat(getComputedStyle(root).getPropertyValue("--row")),
    room: innerHeight,
    tall: "",
  };
  /** @type {State} */
  let state;
  /** @type {Say} */
  let say;
  /** @type {HTMLElement | null} */
  let list = null;
  const tree = () => /** @type {HTMLElement} */ (root.querySelector(".tree"));
  const field = () => /** @type {HTMLInputElement} */ (root.querySelector("#search"));
  const search = later((text) => searching.search(text));
  const clearSearch = () => {
    search.cancel();
    field().value = "";
    searching.search("", {});
  };
  // Enter does not wait for the pause after typing.
  const findFirst = async (/** @type {string} */ text) => {
    search.cancel();
    await searching.search(text);
    const first = store.state.search.hits?.[0];
    if (first) choosing.open(first);
  };
  const onsearchkey = (/** @type {KeyboardEvent} */ event) => {
    if (event.isComposing) return; // what an input method offers is chosen and left by the same keys
    if (event.key === "Escape") {
      clearSearch();
      tree().focus();
    } else if (event.key === "ArrowDown" || isEnter(event)) {
      event.preventDefault();
      tree().focus();
      if (isEnter(event)) findFirst(valueOf(event));
    }
  };
  const onclick = (/** @type {MouseEvent} */ event) => {
    const id = rowOf(event)?.dataset.id;
    if (!id) return;
    const found = view.rows.at(view.rows.placeOf(id));
    if (/** @type {Element} */ (event.target).closest(".fold") && found?.holds) choosing.fold(id, !found.folded);
    else if (found?.live) choosing.watch(id);
    else if (event.ctrlKey || event.metaKey || event.shiftKey) choosing.toggle(id);
    else choosing.open(id);
    tree().focus();
  };
  const onkey = (/** @type {KeyboardEvent} */ event) => {
    const { selected } = store.state; // what was clicked just now may not be drawn yet
    const place = view.rows.placeOf(selected);
    onRowKey(event, view.rows, place < 0 ? view.active : place, selected, choosing);
  };
  const onsearch = (/** @type {Event} */ event) => search(valueOf(event));
  const onscroll = { handleEvent: () => paint(), passive: true };

  function paint(top = list?.scrollTop ?? 0) {
    const { rows, height } = view;
    const beyond = state.view.seen ? ROWS_BEYOND : 0;
    const first = Math.max(0, rows.rowAt(top, height) - beyond);
    const last = Math.min(rows.length, rows.rowAt(top + view.room, height) + 1 + beyond);
    /** @type {{ row: Row, place: number }[]} */
    const visible = [];
    for (let place = first; place < last; place++) visible.push({ row: /** @type {Row} */ (rows.at(place)), place });
    const named = visible.flatMap(({ row }) =>
      row.live || row.day ? [] : [row.id, ...row.merges, row.from ?? row.id],
    );
    loading.briefs(named.filter((id) => !state.briefs.has(id)));
    const active = rows.at(view.active);
    const line = (/** @type {{ row: Row, place: number }} */ { row, place }) =>
      drawRow(state, say, row, rows.topOf(place, height), place === view.active);
    const isEmpty = !rows.length && !state.search.hits && !state.flow.problem;
    render(
      html`<div class="search">
          <button type="button" class="quiet new" @click=${actions.start}>${icon("square-pen")}${say("new_talk")}<kbd>n</kbd></button>
          <div class="field">${icon("search")}<input type="search" id="search" autocomplete="off" spellcheck="false" placeholder=${say("search")} aria-label=${say("search")} @input=${onsearch} @keydown=${onsearchkey}><kbd>/</kbd>${filterButton(state, say, searching)}</div>
          <p class="count" role="status">${count(state.search, say)}</p>
          ${state.view.filters ? filters(state, say, searching, () => field().value) : nothing}
        </div>
        <div class="tree" role=${rows.length ? "tree" : "group"} aria-multiselectable=${rows.length ? "true" : nothing} tabindex="0" aria-label=${say("outline_tree")} aria-activedescendant=${active && !active.day ? rowId(active.id) : nothing}
          @scroll=${onscroll} @keydown=${onkey} @click=${onclick} @dragstart=${ondrag}>
          <div class="rows" role="none">
            ${repeat(visible, ({ row }) => row.id, line)}
            ${isEmpty ? html`<p class="nothing">${say("no_nodes")}</p>` : nothing}
          </div>
        </div>
        <div class="below">${below(state, say, actions.summaries)}</div>`,
      root,
    );
  }

  // Nothing is measured for the first rows: there is room for as many as the window has at most.
  function begin() {
    paint();
    const found = tree();
    new ResizeObserver(() => {
      const before = view.room;
      view.room = found.clientHeight;
      if (view.room > before) paint();
    }).observe(found);
    return found;
  }

  // The row of the turn at work before the reader, when it has just come to be there.
  /** @param {State} now */
  function beginning(now) {
    const isHere = now.turn !== view.turn && selectors.live(now).some(({ id }) => id === now.turn);
    if (!isHere) return -1;
    view.turn = now.turn;
    return view.rows.placeOf(now.turn);
  }

  return {
    focusSearch: () => field().focus(),
    clearSearch,
    /** @param {State} next @param {Say} words */
    draw(next, words) {
      [state, say] = [next, words];
      const isFirst = list === null;
      list ??= begin();
      const [rows, place] = [selectors.rows(state), selectors.placeOfRow(state)];
      const moved = view.selected !== state.selected && place >= 0;
      const searched = isOther(view.search, state.search);
      const cleared = searched && !state.search.hits;
      if (searched && !view.search?.hits) view.before = list?.scrollTop ?? 0;
      Object.assign(view, { rows, selected: state.selected, search: state.search });
      view.active = Math.max(0, Math.min(place < 0 ? view.active : place, rows.length - 1));
      // First the place, then the rows: what is read here was laid out already, and the rows are drawn once.
      const tall = `${rows.topOf(rows.length, view.height)}px`;
      const inner = /** @type {HTMLElement} */ (list.firstElementChild);
      if (view.tall !== tall) inner.style.height = view.tall = tall;
      if (searched) list.scrollTop = cleared ? view.before : 0; // who ends a search has the outline back as it was
      if (moved || (searched && place >= 0)) bringIntoSight(list, view, place);
      const begun = beginning(state);
      if (begun >= 0) bringIntoSight(list, view, begun);
      paint(isFirst && place < 0 && begun < 0 ? 0 : list.scrollTop);
    },
  };
}

// Whether something else is looked for; further hits of the same move nothing.
/** @param {State["search"] | null} before @param {State["search"]} now */
function isOther(before, now) {
  if (!before?.hits || !now.hits) return Boolean(before?.hits) !== Boolean(now.hits);
  return before.text !== now.text || before.filters !== now.filters;
}

/** @param {(text: string) => void} run */
function later(run) {
  let timer = 0;
  const start = (/** @type {string} */ text) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => run(text), SEARCH_AFTER_MS);
  };
  return Object.assign(start, { cancel: () => clearTimeout(timer) });
}

/** @param {HTMLElement} list @param {OutlineView} view @param {number} place */
function bringIntoSight(list, { rows, height }, place) {
  const top = rows.topOf(place, height);
  const { scrollTop: now, clientHeight: room } = list;
  if (top < now) list.scrollTop = top;
  else if (top + height > now + room) list.scrollTop = top + height - room;
}

/** @param {State} state @param {Say} say @param {Summaries} summaries */
function below({ building, flow }, say, { askToBuild, stopBuilding }) {
  if (!building && !flow.nodes.length) return nothing;
  if (!building)
    return html`<button type="button" class="quiet" @click=${askToBuild}>${icon("sparkles")}${say("build")}</button>`;
  const words = say("building", building);
  return html`<progress max=${building.total} value=${building.done} aria-label=${words}></progress><span role="status">${words}</span><button type="button" class="quiet" @click=${stopBuilding}>${say("stop")}</button>`;
}

/** @param {State["search"]} search @param {Say} say */
function count({ hits, total, unread }, say) {
  if (!hits) return "";
  if (unread) return say("hits_so_far", { count: total, unread });
  if (!hits.length) return say("no_hits");
  return total > hits.length
    ? say("hits_shown", { count: total, shown: hits.length })
    : say("hits", { count: hits.length });
}
