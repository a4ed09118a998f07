// The outline: search on top, below it the flow as a tree. Only the rows in sight are elements.
//
//   const outline = createOutline(root, page);
//   outline.draw(state, say, rows, place); // of the chosen turn, or -1

import { NODE } from "../composer/composer.js";
import { html, nothing, render, repeat } from "../lib/lit.js";
import { marked } from "../lib/marked.js";
import { filters } from "./filters.js";

const ROWS_BEYOND = 8;
const SEARCH_AFTER_MS = 200;
const DEEPEST = 12;

export function createOutline(root, page) {
  /** @type {any} */
  const view = {
    state: null,
    rows: [],
    active: 0,
    hits: null,
    before: 0,
    selected: null,
    list: null,
    height: 36,
    room: innerHeight,
    tall: "",
  };
  const redraw = () => view.state && paint(root, view, page);
  const search = later((text) => page.search(text));
  // Enter does not wait for the pause after typing.
  const findFirst = async (text) => {
    search.cancel();
    await page.search(text);
    const first = page.state.search.hits?.[0];
    if (first) page.open(first);
  };
  const onsearchkey = (event) => {
    if (event.key === "Escape") {
      page.clearSearch();
      tree(root).focus();
    } else if ((event.key === "ArrowDown" || event.key === "Enter") && !event.isComposing) {
      event.preventDefault();
      tree(root).focus();
      if (event.key === "Enter") findFirst(event.target.value);
    }
  };
  Object.assign(view, {
    onsearchkey,
    search: (event) => search(event.target.value),
    onkey: (event) => onKey(event, view, page),
    onclick: (event) => onClick(event, view, page, tree(root)),
    redraw,
  });
  return {
    focusSearch: () => root.querySelector("#search").focus(),
    clearSearch() {
      search.cancel();
      root.querySelector("#search").value = "";
    },
    draw(state, say, rows, place) {
      const moved = view.selected !== state.selected && place >= 0;
      const searched = view.hits !== state.search.hits;
      const cleared = searched && !state.search.hits;
      if (searched && !view.hits) view.before = view.list?.scrollTop ?? 0;
      Object.assign(view, { state, say, rows, selected: state.selected, hits: state.search.hits });
      view.active = Math.max(0, Math.min(place < 0 ? view.active : place, rows.length - 1));
      if (!view.list) begin();
      const { list } = view;
      // First the place, then the rows: what is read here was laid out already, and the rows are drawn once.
      const tall = `${rows.length * view.height}px`;
      if (view.tall !== tall) list.firstElementChild.style.height = view.tall = tall;
      if (searched) list.scrollTop = cleared ? view.before : 0; // who ends a search has the outline back as it was
      if (moved || (searched && place >= 0)) bringIntoSight(view, place);
      redraw();
    },
  };

  function begin() {
    const { rows } = view;
    view.rows = []; // to measure, the frame is enough: the rows themselves are drawn once
    redraw();
    view.rows = rows;
    view.list = root.querySelector(".tree");
    const measure = () => Object.assign(view, { height: rowHeight(view.list), room: view.list.clientHeight });
    measure();
    new ResizeObserver(() => {
      measure();
      redraw();
    }).observe(view.list);
  }
}

function tree(root) {
  return root.querySelector(".tree");
}

function later(run) {
  let timer = 0;
  const start = (text) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(text), SEARCH_AFTER_MS);
  };
  return Object.assign(start, { cancel: () => clearTimeout(timer) });
}

function rowHeight(list) {
  return parseFloat(getComputedStyle(list).getPropertyValue("--row")) || 36;
}

function bringIntoSight({ list, height, room }, place) {
  const top = place * height;
  const now = list.scrollTop;
  if (top < now) list.scrollTop = top;
  else if (top + height > now + room) list.scrollTop = top + height - room;
}

function paint(root, view, page) {
  const { state, say, rows, height } = view;
  const top = view.list?.scrollTop ?? 0;
  const first = Math.max(0, Math.floor(top / height) - ROWS_BEYOND);
  const last = Math.min(rows.length, Math.ceil((top + view.room) / height) + ROWS_BEYOND);
  const visible = rows.slice(first, last).map((row, offset) => ({ row, place: first + offset }));
  page.briefs(
    visible.flatMap(({ row }) => [row.id, ...row.merges, row.from ?? row.id]).filter((id) => !state.briefs.has(id)),
  );
  const active = rows[view.active];
  render(
    html`<div class="search">
        <input type="search" id="search" autocomplete="off" spellcheck="false" placeholder=${`${say("search")}  ( / )`} aria-label=${say("search")} @input=${view.search} @keydown=${view.onsearchkey}>
        <p class="count" role="status">${count(state.search, say)}</p>
        <div class="heads"><button type="button" class="quiet small" @click=${() => page.start()}>${say("new_talk")}</button>${filters(state, say, page, () => root.querySelector("#search").value)}</div>
      </div>
      <div class="tree" role=${rows.length ? "tree" : "group"} aria-multiselectable=${rows.length ? "true" : nothing} tabindex="0" aria-label=${say("outline")} aria-activedescendant=${active ? rowId(active.id) : nothing}
        @scroll=${{ handleEvent: view.redraw, passive: true }} @keydown=${view.onkey} @click=${view.onclick} @dragstart=${ondrag}>
        <div class="rows" role="none">
          ${repeat(
            visible,
            ({ row }) => row.id,
            ({ row, place }) => drawRow(view, row, place, height),
          )}
          ${rows.length || state.search.hits || state.flow.problem ? nothing : html`<p class="nothing">${say("no_nodes")}</p>`}
        </div>
      </div>
      <div class="below">${below(state, say, page)}</div>`,
    root,
  );
}

function below({ building, flow }, say, page) {
  if (!building)
    return html`<button type="button" class="quiet" ?disabled=${!flow.nodes.length} @click=${() => page.askToBuild()}>${say("build")}</button>`;
  return html`<progress max=${building.total} value=${building.done} aria-label=${say("building", building)}></progress><span role="status">${say("building", building)}</span><button type="button" class="quiet" @click=${() => page.stopBuilding()}>${say("stop")}</button>`;
}

function count({ hits, total }, say) {
  if (!hits) return "";
  if (!hits.length) return say("no_hits");
  return total > hits.length
    ? say("hits_shown", { count: total, shown: hits.length })
    : say("hits", { count: hits.length });
}

function drawRow({ state, say, active }, row, place, height) {
  const brief = state.briefs.get(row.id);
  const selected = row.id === state.selected;
  const name = (id) => state.briefs.get(id)?.title || "…";
  const known = brief?.problem
    ? say("unreadable", { problem: brief.problem })
    : brief?.title || brief?.summary || say("untitled");
  const picked = state.merging.includes(row.id);
  const classes = `row ${row.kind}${selected ? " selected" : ""}${picked ? " picked" : ""}${place === active ? " active" : ""}`;
  const branch = row.kind === "branch" ? say("branch_from", { title: name(row.from) }) : "";
  const merge = row.merges.length ? say("merges", { titles: row.merges.map(name).join(", ") }) : "";
  const about = [brief?.summary, branch, merge].filter(Boolean).join(" · ");
  return html`<div id=${rowId(row.id)} class=${classes} role="treeitem" data-id=${row.id} aria-level=${row.level} aria-selected=${selected || picked ? "true" : "false"} draggable="true"
    aria-expanded=${row.holds ? String(!row.folded) : nothing} title=${about || nothing}
    .style=${`top:${place * height}px;--level:${Math.min(row.level, DEEPEST) - 1}`}><span class="fold" aria-hidden="true">${row.holds ? (row.folded ? "▸" : "▾") : ""}</span>${mark("↳", branch)}<span class="title">${brief ? marked(known, state.search.hits ? state.search.text : "") : "…"}</span>${merge ? html`<span class="badge" aria-hidden="true">⋈ ${row.merges.map(name).join(", ")}</span><span class="hidden">${merge}</span>` : nothing}${row.branches ? html`<span class="badge">↳${row.branches}</span>` : nothing}${brief?.files ? html`<span class="badge">±${brief.files}</span>` : nothing}</div>`;
}

function mark(sign, words) {
  return words
    ? html`<span class="sign" aria-hidden="true">${sign}</span><span class="hidden">${words}</span>`
    : nothing;
}

// A row dragged to the prompt goes along as a reference.
function ondrag(event) {
  const row = event.target.closest?.(".row");
  if (row) event.dataTransfer.setData(NODE, row.dataset.id);
}

function rowId(id) {
  return `row-${id}`;
}

function onClick(event, view, page, list) {
  const row = event.target.closest(".row");
  if (!row) return;
  const found = view.rows.find((each) => each.id === row.dataset.id);
  if (event.target.closest(".fold") && found?.holds) page.fold(found.id, !found.folded);
  else if (event.ctrlKey || event.metaKey || event.shiftKey) page.toggle(row.dataset.id);
  else page.open(row.dataset.id);
  list.focus();
}

function onKey(event, view, page) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const here = view.rows[view.active];
  const go = (place) => {
    const row = view.rows[Math.max(0, Math.min(place, view.rows.length - 1))];
    if (row) page.step(row.id);
  };
  const outward = () => {
    let place = view.active - 1;
    while (place > 0 && view.rows[place].level >= here.level) place--;
    go(place);
  };
  const keys = {
    ArrowDown: () => go(here?.id === view.state.selected ? view.active + 1 : view.active),
    ArrowUp: () => go(view.active - 1),
    Home: () => go(0),
    End: () => go(view.rows.length - 1),
    PageDown: () => go(view.active + 10),
    PageUp: () => go(view.active - 10),
    Enter: () => here && page.open(here.id),
    " ": () => go(view.active),
    ArrowRight: () => here?.holds && (here.folded ? page.fold(here.id, false) : go(view.active + 1)),
    ArrowLeft: () => here && (here.holds && !here.folded ? page.fold(here.id, true) : outward()),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}
