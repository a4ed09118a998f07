// The flow as a picture: one canvas as large as the view, drawn for what is in sight. The outline says the same to
// those who cannot see it.
//
//   const graph = createGraph(root, { select, briefs });
//   graph.draw(state, topology, lanes, path);

import { element } from "../lib/dom.js";

const ROW = 34;
const LANE = 22;
const MARGIN = 20;
const DOT = 6;
const LABEL_FROM = 26;

export function createGraph(root, actions) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const space = element("div", { class: "space" });
  const scroller = element("div", { class: "scroller", tabindex: "-1" }, space, canvas);
  root.append(scroller);
  /** @type {any} */
  const view = { state: null, topology: null, lanes: null, path: new Set() };
  const redraw = () => paint(view, scroller, canvas, actions);
  scroller.addEventListener("scroll", redraw, { passive: true });
  new ResizeObserver(redraw).observe(scroller);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  canvas.addEventListener("click", (event) => {
    const id = nodeAt(view, scroller, event.offsetX, event.offsetY);
    if (id) actions.select(id);
  });
  canvas.addEventListener("mousemove", (event) => {
    const id = nodeAt(view, scroller, event.offsetX, event.offsetY);
    canvas.classList.toggle("pointing", id !== null);
    canvas.title = id ? (view.state.briefs.get(id)?.title ?? "") : "";
  });
  return {
    draw(state, topology, lanes, path) {
      const moved = view.state?.selected !== state.selected;
      Object.assign(view, { state, topology, lanes, path: new Set(path) });
      space.style.height = `${lanes.rows * ROW + 2 * MARGIN}px`;
      space.style.width = `${lanes.lanes * LANE + 2 * MARGIN}px`;
      if (moved) bringIntoSight(view, scroller);
      redraw();
    },
  };
}

function x(view, place) {
  return MARGIN + view.lanes.lane[place] * LANE;
}

function y(view, place) {
  return MARGIN + view.lanes.depth[place] * ROW;
}

function bringIntoSight(view, scroller) {
  const place = view.topology.index.get(view.state.selected);
  if (place === undefined || !scroller.clientHeight) return;
  const at = y(view, place);
  if (at < scroller.scrollTop + MARGIN || at > scroller.scrollTop + scroller.clientHeight - MARGIN) {
    scroller.scrollTop = at - scroller.clientHeight / 2;
  }
}

function nodeAt(view, scroller, offsetX, offsetY) {
  if (!view.topology) return null;
  const row = Math.round((offsetY + scroller.scrollTop - MARGIN) / ROW);
  const across = offsetX + scroller.scrollLeft;
  const widest = Math.max(...inSight(view, row, row).map((place) => x(view, place)), 0);
  for (const place of inSight(view, row, row)) {
    const labelled = x(view, place) === widest && across > widest;
    if (Math.abs(x(view, place) - across) <= LANE / 2 || labelled) return view.topology.ids[place];
  }
  return null;
}

function inSight(view, first, last) {
  if (view.byRowOf !== view.lanes) {
    view.byRow = [];
    view.lanes.depth.forEach((row, place) => (view.byRow[row] ??= []).push(place));
    view.byRowOf = view.lanes;
  }
  const found = [];
  for (let row = Math.max(0, first); row <= Math.min(last, view.byRow.length - 1); row++) found.push(...(view.byRow[row] ?? []));
  return found;
}

function paint(view, scroller, canvas, actions) {
  const width = scroller.clientWidth;
  const height = scroller.clientHeight;
  if (!view.topology || !width || !height) return;
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  const style = getComputedStyle(scroller);
  const known = {};
  const colour = (name) => (known[name] ??= style.getPropertyValue(name).trim());
  pen.setTransform(ratio, 0, 0, ratio, -scroller.scrollLeft * ratio, -scroller.scrollTop * ratio);
  const first = Math.floor((scroller.scrollTop - MARGIN) / ROW) - 1;
  const last = Math.ceil((scroller.scrollTop + height - MARGIN) / ROW) + 1;
  paintEdges(view, pen, first, last, colour);
  const places = inSight(view, first, last);
  for (const place of places) paintNode(view, pen, place, colour);
  paintLabels(view, pen, places, colour, scroller.scrollLeft + width, style.fontFamily, actions);
}

function paintEdges(view, pen, first, last, colour) {
  const { parents } = view.topology;
  const { depth } = view.lanes;
  for (let place = 0; place < parents.length; place++) {
    if (depth[place] < first) continue;
    for (const parent of parents[place]) {
      if (depth[parent] > last) continue;
      const onPath = view.path.has(view.topology.ids[place]) && view.path.has(view.topology.ids[parent]);
      pen.strokeStyle = onPath ? colour("--accent") : colour("--line-strong");
      pen.lineWidth = onPath ? 2.5 : 1.5;
      pen.setLineDash(parents[place][0] === parent ? [] : [4, 3]); // a merge
      const [fromX, fromY, toX, toY] = [x(view, parent), y(view, parent), x(view, place), y(view, place)];
      pen.beginPath();
      pen.moveTo(fromX, fromY);
      if (fromX === toX) pen.lineTo(toX, toY);
      else pen.bezierCurveTo(fromX, fromY + ROW * 0.8, toX, toY - ROW * 0.8, toX, toY);
      pen.stroke();
    }
  }
  pen.setLineDash([]);
}

function paintNode(view, pen, place, colour) {
  const id = view.topology.ids[place];
  const selected = id === view.state.selected;
  const onPath = view.path.has(id);
  const merge = view.topology.parents[place].length > 1;
  pen.beginPath();
  if (merge) diamond(pen, x(view, place), y(view, place), DOT + 1);
  else pen.arc(x(view, place), y(view, place), selected ? DOT + 1 : DOT, 0, 2 * Math.PI);
  pen.fillStyle = onPath ? colour("--accent") : colour("--back");
  pen.fill();
  pen.strokeStyle = onPath ? colour("--accent") : colour("--line-strong");
  pen.lineWidth = 2;
  pen.stroke();
  if (selected) {
    pen.beginPath();
    pen.arc(x(view, place), y(view, place), DOT + 5, 0, 2 * Math.PI);
    pen.stroke();
  }
}

function diamond(pen, atX, atY, size) {
  pen.moveTo(atX, atY - size);
  pen.lineTo(atX + size, atY);
  pen.lineTo(atX, atY + size);
  pen.lineTo(atX - size, atY);
  pen.closePath();
}

// One label a row: of the node on the active path, else of the only one there.
function paintLabels(view, pen, places, colour, right, family, actions) {
  const rows = new Map();
  const missing = [];
  for (const place of places) {
    const row = view.lanes.depth[place];
    const known = rows.get(row) ?? { place, edge: 0, count: 0 };
    known.count++;
    known.edge = Math.max(known.edge, x(view, place));
    if (view.path.has(view.topology.ids[place])) known.place = place;
    rows.set(row, known);
  }
  pen.font = `12px ${family}`;
  pen.textBaseline = "middle";
  for (const { place, edge, count } of rows.values()) {
    const id = view.topology.ids[place];
    const onPath = view.path.has(id);
    if (!onPath && count > 1) continue;
    const brief = view.state.briefs.get(id);
    if (!brief) missing.push(id);
    const left = edge + LABEL_FROM - DOT;
    pen.fillStyle = onPath ? colour("--text") : colour("--faint");
    pen.fillText(cut(pen, brief?.title ?? "", right - left - 8), left, y(view, place));
  }
  actions.briefs(missing);
}

function cut(pen, text, room) {
  if (room < 20) return "";
  let length = Math.min(text.length, Math.floor(room / 4));
  while (length > 0 && pen.measureText(text.slice(0, length)).width > room) length = Math.floor(length * 0.9);
  return length < text.length ? `${text.slice(0, Math.max(0, length - 1))}…` : text;
}
