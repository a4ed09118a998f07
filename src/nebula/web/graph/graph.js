// The flow as a picture: one canvas, moved by dragging and wheel, zoomed to show more or less of each turn. The outline
// says the same to those who cannot see it.
//
//   const graph = createGraph(root, page);
//   graph.draw(state, say, { topology, layout, path, hits });

import { html, nothing, render } from "../lib/lit.js";
import { different } from "../state/selectors.js";
import { neighbour, wouldCircle } from "../state/topology.js";
import { centred, fitted, holds, kept, panned, zoomed } from "../state/viewport.js";
import { boundsOf, boxOf, detailAt, placeAt, pointOf } from "./geometry.js";
import { createMinimap } from "./minimap.js";
import { paint, shownFor } from "./paint.js";
import { followPointer } from "./pointer.js";

const READING = 0.85;
const WAYS = /** @type {const} */ ({ ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" });

export function createGraph(root, page) {
  /** @type {any} */
  const view = { state: null, placed: undefined, layout: null, link: null, size: { width: 0, height: 0 } };
  chrome(root, page, page.say, undefined, false, { fit: () => {}, zoom: () => {} });
  const canvas = root.querySelector("canvas.picture");
  const minimap = createMinimap(root.querySelector("canvas.minimap"), (point) =>
    look(centred(viewport(), view.size, point)),
  );
  // As it will be drawn next: a hand that is quicker than the frames moves on from there.
  const viewport = () => page.state.view.viewport ?? begin(view);
  const look = (next) => page.look({ viewport: kept(next, view.size, boundsOf(view.layout)) });
  const middle = () => ({ x: view.size.width / 2, y: view.size.height / 2 });
  /** @param {number} factor @param {{ x: number, y: number } | null} at */
  const zoom = (factor, at = null) =>
    view.layout && look(at ? zoomed(viewport(), factor, at) : zoomedByKey(view, viewport(), factor, middle()));
  // After the frame that is on its way: a run that was just opened counts with all its turns.
  const fit = () => requestAnimationFrame(() => view.layout && look(fitted(boundsOf(view.layout), view.size)));
  const at = (point) => {
    if (!view.layout) return null; // nothing is drawn yet
    const { x, y, scale } = viewport();
    return placeAt(view.layout, { x: point.x / scale + x, y: point.y / scale + y }, scale);
  };
  followPointer(canvas, {
    pan: (byX, byY) => view.layout && look(panned(viewport(), byX, byY)),
    zoom,
    click: (point, more) => choose(view, at(point), page, more),
    hover: (point) => hover(canvas, view, at(point)),
    grab: (point) => grab(view, at(point)),
    draw(point) {
      const over = at(point);
      Object.assign(view.link, { point, over, barred: over !== null && isBarred(view, over) });
      canvas.classList.toggle("barred", view.link.barred);
      repaint();
    },
    drop(point, target) {
      const { from, over, barred } = view.link;
      view.link = null;
      canvas.classList.remove("barred");
      if (point && target?.closest("#composer")) page.refer(view.topology.ids[from]);
      else if (point && over !== null && over !== from && !barred)
        page.connect(view.topology.ids[from], view.topology.ids[over]);
      else if (point && barred && over !== from) page.tell("circle");
      repaint();
    },
  });
  canvas.addEventListener("keydown", (event) => {
    const id =
      WAYS[event.key] && view.state.selected !== null
        ? neighbour(view.topology, view.state.selected, WAYS[event.key])
        : null;
    if (!WAYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (id) page.step(id);
    else if (view.state.selected === null && view.topology.ids.length) page.select(view.topology.ids[0]);
  });
  const repaint = () => view.state && drawPicture(canvas, minimap, view, viewport(), page);
  const painted = different();
  const measure = () => (view.size = { width: canvas.clientWidth, height: canvas.clientHeight });
  // Asking for the size while other parts are being drawn would lay out the page once more.
  new ResizeObserver(() => {
    measure();
    if (view.state) place();
    repaint();
  }).observe(canvas);

  // The chosen turn is in sight. Until the reader moves it, the picture shows everything for as long as that can be read.
  function place() {
    const { state } = view;
    if (!view.size.width) return;
    const moved = view.placed !== state.selected;
    view.placed = state.selected;
    const seen = moved ? bringIntoSight(view, viewport()) : viewport();
    const following = state.view.viewport === null && isReadable(view);
    if (seen === state.view.viewport || !state.flow.nodes.length || following) return;
    page.look({ viewport: seen });
    view.state = page.state;
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  return {
    fit,
    zoom,
    draw(state, say, scene) {
      Object.assign(view, scene, { state, say });
      chrome(root, page, say, state.briefs.get(state.selected), state.view.folding, { fit, zoom });
      if (!view.size.width) measure();
      place();
      const { selected, merging, briefs, view: seen } = view.state;
      if (painted(say, scene.layout, scene.pathSet, scene.hits, selected, merging, briefs, seen.viewport, seen.theme))
        repaint();
    },
  };
}

// What the card of the chosen turn shows is said as well.
function chrome(root, page, say, brief, folding, { fit, zoom }) {
  const title = brief?.title ?? say("nothing_selected");
  const card = [brief?.summary, brief?.opening, brief?.tags?.join(", ")].filter(Boolean).join(" · ");
  render(
    html`<canvas class="picture" tabindex="0" role="img" aria-label=${say("graph_label", { title })} aria-description=${card || nothing}></canvas>
      <canvas class="minimap" width="132" height="96" aria-hidden="true"></canvas>
      <div class="controls">
        <button type="button" aria-label=${say("zoom_in")} title=${say("zoom_in")} @click=${() => zoom(1.25)}>+</button>
        <button type="button" aria-label=${say("zoom_out")} title=${say("zoom_out")} @click=${() => zoom(0.8)}>−</button>
        <button type="button" aria-label=${say("fit")} title=${say("fit")} @click=${fit}>⤢</button>
        <button type="button" aria-pressed=${folding ? "true" : "false"} aria-label=${say("folding")} title=${say("folding")} @click=${() => page.look({ folding: !folding, opened: new Set() })}>≡</button>
      </div>`,
    root,
  );
}

// At first everything, if its titles can be read then; else the chosen turn, or the newest.
function begin(view) {
  const { layout, topology, state, size } = view;
  if (isReadable(view) || !topology.ids.length) return fitted(boundsOf(layout), size);
  const place = topology.index.get(state.selected) ?? topology.ids.length - 1;
  const { x, y } = pointOf(layout, place);
  return centred({ x: 0, y: 0, scale: READING }, size, { x: x + 90, y });
}

function isReadable({ layout, size }) {
  return detailAt(fitted(boundsOf(layout), size).scale) !== "dot";
}

// Without a pointer the picture is zoomed about its middle, and the chosen turn stays in sight if it was.
function zoomedByKey(view, viewport, factor, middle) {
  const place = view.topology.index.get(view.state.selected);
  const next = zoomed(viewport, factor, middle);
  if (place === undefined || !holds(viewport, view.size, boxOf(view.layout, shownFor(view.layout, place)))) return next;
  return bringIntoSight(view, next);
}

function bringIntoSight({ layout, topology, state, size }, viewport) {
  const place = topology.index.get(state.selected);
  if (place === undefined) return viewport;
  const box = boxOf(layout, shownFor(layout, place));
  if (holds(viewport, size, box)) return viewport;
  return centred(viewport, size, { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 });
}

// A folded run opens; a turn is chosen.
function choose({ layout, topology, state }, place, page, more) {
  if (place === null) return;
  const id = topology.ids[place];
  if (layout.runs.has(place)) page.look({ opened: new Set(state.view.opened).add(id) });
  else if (more) page.toggle(id);
  else page.open(id);
}

function grab(view, place) {
  view.link =
    place === null || view.layout.runs.has(place) ? null : { from: place, point: null, over: null, barred: false };
  return view.link !== null;
}

function isBarred({ topology, link }, over) {
  return over === link.from || wouldCircle(topology, topology.ids[link.from], topology.ids[over]);
}

function hover(canvas, { topology, state }, place) {
  canvas.classList.toggle("pointing", place !== null);
  const title = place === null ? "" : (state.briefs.get(topology.ids[place])?.title ?? "");
  if (canvas.title !== title) canvas.title = title;
}

function drawPicture(canvas, minimap, view, viewport, page) {
  const { size } = view;
  if (!size.width || !size.height) return;
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(size.width * ratio) || canvas.height !== Math.round(size.height * ratio)) {
    canvas.width = Math.round(size.width * ratio);
    canvas.height = Math.round(size.height * ratio);
  }
  const style = getComputedStyle(canvas);
  const known = {};
  const colour = (name) => (known[name] ??= style.getPropertyValue(name).trim());
  const scene = { ...view, path: view.pathSet, viewport, colour };
  page.briefs(paint(canvas.getContext("2d"), scene, ratio));
  minimap.draw(scene);
}
