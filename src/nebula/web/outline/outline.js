// The outline: search on top, below it the flow as a tree. Only the rows in sight are elements.
//
//   const outline = createOutline(root, { say, select, fold, search, briefs });
//   outline.draw(state, rows);

import { element } from "../lib/dom.js";

const ROWS_BEYOND = 8;
const SEARCH_AFTER_MS = 200;

export function createOutline(root, actions) {
  const search = element("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false" });
  const count = element("p", { class: "count", role: "status" });
  const rows = element("div", { class: "rows" });
  const tree = element("div", { class: "tree", role: "tree", tabindex: "0" }, rows);
  const build = element("button", { type: "button", class: "quiet", onclick: () => actions.build() });
  root.append(element("div", { class: "search" }, search, count), tree, element("div", { class: "below" }, build));
  /** @type {any} */
  const view = { shown: [], state: null, active: 0 };

  const redraw = () => drawRows(view, tree, rows, actions);
  tree.addEventListener("scroll", redraw, { passive: true });
  new ResizeObserver(redraw).observe(tree);
  tree.addEventListener("keydown", (event) => onKey(event, view, actions));
  rows.addEventListener("click", (event) => onClick(event, view, actions, tree));
  search.addEventListener("input", later(() => actions.search(search.value)));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      search.value = "";
      actions.search("");
      tree.focus();
    } else if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      tree.focus();
      if (view.shown.length && event.key === "Enter") actions.select(view.shown[0].id);
    }
  });

  return {
    focusSearch: () => search.focus(),
    draw(state, treeRows) {
      const say = actions.say();
      const hits = state.search.hits;
      search.placeholder = say("search");
      build.textContent = say("build");
      build.disabled = state.flow.nodes.length === 0;
      search.setAttribute("aria-label", say("search"));
      tree.setAttribute("aria-label", say("outline"));
      count.textContent = hits ? (hits.length ? say("hits", { count: hits.length }) : say("no_hits")) : "";
      const before = view.state?.selected;
      view.state = state;
      view.shown = hits ? hits.map((id) => ({ id, level: 1, branches: 0, folded: false })) : treeRows;
      const place = view.shown.findIndex((row) => row.id === state.selected);
      if (place >= 0) view.active = place;
      view.active = Math.max(0, Math.min(view.active, view.shown.length - 1));
      tree.classList.toggle("empty", view.shown.length === 0);
      if (before !== state.selected && place >= 0) bringIntoSight(tree, place);
      redraw();
    },
  };
}

function later(run) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, SEARCH_AFTER_MS);
  };
}

function rowHeight(tree) {
  return parseFloat(getComputedStyle(tree).getPropertyValue("--row")) || 36;
}

function bringIntoSight(tree, place) {
  const height = rowHeight(tree);
  const top = place * height;
  if (top < tree.scrollTop) tree.scrollTop = top;
  else if (top + height > tree.scrollTop + tree.clientHeight) tree.scrollTop = top + height - tree.clientHeight;
}

function drawRows(view, tree, rows, actions) {
  if (!view.state) return;
  const say = actions.say();
  const height = rowHeight(tree);
  const first = Math.max(0, Math.floor(tree.scrollTop / height) - ROWS_BEYOND);
  const last = Math.min(view.shown.length, Math.ceil((tree.scrollTop + tree.clientHeight) / height) + ROWS_BEYOND);
  rows.style.height = `${view.shown.length * height}px`;
  const visible = view.shown.slice(first, last);
  actions.briefs(visible.map((row) => row.id).filter((id) => !view.state.briefs.has(id)));
  rows.replaceChildren(...visible.map((row, offset) => drawRow(view, row, first + offset, height, say)));
  const active = view.shown[view.active];
  if (active) tree.setAttribute("aria-activedescendant", rowId(active.id));
  else tree.removeAttribute("aria-activedescendant");
  const empty = !view.shown.length && !view.state.search.hits && !view.state.flow.problem;
  if (empty) rows.append(element("p", { class: "nothing" }, say("no_nodes")));
}

function drawRow(view, row, place, height, say) {
  const { state } = view;
  const brief = state.briefs.get(row.id);
  const selected = row.id === state.selected;
  const known = brief?.problem ? say("unreadable", { problem: brief.problem }) : brief?.title || brief?.summary || say("untitled");
  const title = brief ? known : "…";
  const made = element(
    "div",
    {
      id: rowId(row.id),
      class: `row${selected ? " selected" : ""}${place === view.active ? " active" : ""}`,
      role: "treeitem",
      "data-id": row.id,
      "aria-level": row.level,
      "aria-selected": selected ? "true" : "false",
      "aria-expanded": row.branches ? String(!row.folded) : undefined,
      title: brief?.summary || undefined,
    },
    element("span", { class: "fold", "aria-hidden": "true" }, row.branches ? (row.folded ? "▸" : "▾") : ""),
    element("span", { class: "title" }, title),
    row.branches ? element("span", { class: "badge" }, `+${row.branches}`) : null,
    brief?.files ? element("span", { class: "badge" }, `±${brief.files}`) : null,
  );
  made.style.top = `${place * height}px`;
  made.style.setProperty("--level", String(Math.min(row.level, 12) - 1));
  return made;
}

function rowId(id) {
  return `row-${id}`;
}

function onClick(event, view, actions, tree) {
  const row = event.target.closest(".row");
  if (!row) return;
  const found = view.shown.find((each) => each.id === row.dataset.id);
  if (event.target.closest(".fold") && found?.branches) actions.fold(found.id, !found.folded);
  else actions.select(row.dataset.id);
  tree.focus();
}

function onKey(event, view, actions) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const here = view.shown[view.active];
  const go = (place) => {
    const row = view.shown[Math.max(0, Math.min(place, view.shown.length - 1))];
    if (row) actions.select(row.id);
  };
  const outward = () => {
    let place = view.active - 1;
    while (place > 0 && view.shown[place].level >= here.level) place--;
    go(place);
  };
  const keys = {
    ArrowDown: () => go(here?.id === view.state.selected ? view.active + 1 : view.active),
    ArrowUp: () => go(view.active - 1),
    Home: () => go(0),
    End: () => go(view.shown.length - 1),
    PageDown: () => go(view.active + 10),
    PageUp: () => go(view.active - 10),
    Enter: () => go(view.active),
    " ": () => go(view.active),
    ArrowRight: () => here?.branches && (here.folded ? actions.fold(here.id, false) : go(view.active + 1)),
    ArrowLeft: () => here && (here.branches && !here.folded ? actions.fold(here.id, true) : outward()),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}
