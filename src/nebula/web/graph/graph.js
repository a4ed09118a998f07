// The flow as a picture: one canvas, moved by dragging and wheel, zoomed to show more or less of each turn. The outline
// says the same to those who cannot see it.

import { html, nothing, render } from "../lib/lit.js";
import { different } from "../state/selectors.js";
import { neighbour, wouldCircle } from "../state/topology.js";
import { boundsOf, boxOf, detailAt, placeAt, pointOf } from "./geometry.js";
import { createMinimap } from "./minimap.js";
import { paint, shownFor } from "./paint.js";
import { followPointer } from "./pointer.js";
import { centred, fitted, holds, kept, panned, zoomed } from "./viewport.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { Looking } from "../app/looking.js" */
/** @import { ComposingActions } from "../composer/actions.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Asking } from "../server/asking.js" */
/** @import { Loading } from "../server/loading.js" */
/** @import { Selectors } from "../state/selectors.js" */
/** @import { Brief, State } from "../state/state.js" */
/** @import { Topology } from "../state/topology.js" */
/** @import { Edits } from "./edits.js" */
/** @import { Layout } from "./layout.js" */
/** @import { Minimap } from "./minimap.js" */
/** @import { Scene } from "./paint.js" */
/** @import { Point, Size, Viewport } from "./viewport.js" */
/**
 * @typedef {object} GraphActions
 * @property {Choosing} choosing
 * @property {Pick<Looking, "look">} looking
 * @property {Edits} edits
 * @property {Pick<ComposingActions, "refer">} composing
 * @property {Pick<Asking, "tell">} asking
 * @property {Pick<Loading, "briefs">} loading
 * @property {Selectors} selectors
 */
/**
 * @typedef {object} Picture What was drawn last.
 * @property {State} state
 * @property {Say} say
 * @property {Topology} topology
 * @property {Layout} layout
 * @property {Set<string>} path
 * @property {Set<string> | null} hits
 * @property {Size} size
 * @property {Scene["link"]} link
 */

const READING = 0.85;
/** @type {Record<string, "up" | "down" | "left" | "right">} */
const WAYS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

/** @param {HTMLElement} root @param {GraphActions} actions @param {{ readonly state: State }} store @param {Say} words */
export function createGraph(root, actions, store, words) {
  const { choosing, looking, loading, selectors } = actions;
  /** @type {Size} */
  let size = { width: 0, height: 0 };
  /** @type {Picture | null} */
  let view = null;
  /** @type {string | null | undefined} The turn that was brought into sight last. */
  let placed;
  /** @type {Scene["link"]} */
  let link = null;
  chrome(
    root,
    words,
    undefined,
    false,
    looking,
    () => {},
    () => {},
  );
  const canvas = /** @type {HTMLCanvasElement} */ (root.querySelector("canvas.picture"));
  const corner = /** @type {HTMLCanvasElement} */ (root.querySelector("canvas.minimap"));
  // As it will be drawn next: a hand that is quicker than the frames moves on from there.
  const viewport = (/** @type {Picture} */ now) => store.state.view.viewport ?? begin(now);
  const look = (/** @type {(now: Picture) => Viewport} */ next) => {
    if (view) looking.look({ viewport: kept(next(view), size, boundsOf(view.layout)) });
  };
  const minimap = createMinimap(corner, (point) => look((now) => centred(viewport(now), size, point)));
  /** @param {number} factor @param {Point | null} at */
  const zoom = (factor, at = null) =>
    look((now) => (at ? zoomed(viewport(now), factor, at) : zoomedByKey(now, viewport(now), factor)));
  // After the frame that is on its way: a run that was just opened counts with all its turns.
  const fit = () => requestAnimationFrame(() => look((now) => fitted(boundsOf(now.layout), size)));
  const at = (/** @type {Point} */ point) => {
    if (!view) return null; // nothing is drawn yet
    const { x, y, scale } = viewport(view);
    return placeAt(view.layout, { x: point.x / scale + x, y: point.y / scale + y }, scale);
  };
  const repaint = () => {
    if (!view) return;
    Object.assign(view, { size, link });
    drawPicture(canvas, minimap, view, viewport(view), loading);
  };
  followPointer(canvas, {
    pan: (byX, byY) => look((now) => panned(viewport(now), byX, byY)),
    zoom,
    click: (point, more) => choose(view, at(point), actions, more),
    hover: (point) => hover(canvas, view, at(point)),
    grab(point) {
      const from = at(point);
      link = from === null || view?.layout.runs.has(from) ? null : { from, point: null, over: null, barred: false };
      return link !== null;
    },
    draw(point) {
      const over = at(point);
      if (!link || !view) return;
      link = { ...link, point, over, barred: over !== null && isBarred(view.topology, link.from, over) };
      canvas.classList.toggle("barred", link.barred);
      repaint();
    },
    drop(point, target) {
      if (point && link && view) connect(view.topology, link, target, actions);
      link = null;
      canvas.classList.remove("barred");
      repaint();
    },
  });
  canvas.addEventListener("keydown", (event) => {
    const way = WAYS[event.key];
    if (!view || !way || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { selected } = view.state;
    const id = selected === null ? null : neighbour(view.topology, selected, way);
    if (id) choosing.step(id);
    else if (selected === null && view.topology.ids.length) choosing.select(view.topology.ids[0]);
  });
  const painted = different();
  const measure = () => (size = { width: canvas.clientWidth, height: canvas.clientHeight });
  // Asking for the size while other parts are being drawn would lay out the page once more.
  new ResizeObserver(() => {
    measure();
    if (view) place(Object.assign(view, { size }));
    repaint();
  }).observe(canvas);

  // The chosen turn is in sight. Until the reader moves it, the picture shows everything for as long as that can be read.
  /** @param {Picture} now */
  function place(now) {
    const { state } = now;
    if (!size.width) return;
    const moved = placed !== state.selected;
    placed = state.selected;
    const seen = moved ? bringIntoSight(now, viewport(now)) : viewport(now);
    const following = state.view.viewport === null && isReadable(now);
    if (seen === state.view.viewport || !state.flow.nodes.length || following) return;
    looking.look({ viewport: seen });
    now.state = store.state;
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  return {
    fit,
    zoom,
    /** @param {State} state @param {Say} say */
    draw(state, say) {
      if (!size.width) measure();
      const [topology, layout] = [selectors.topology(state), selectors.layout(state)];
      const [path, hits] = [selectors.pathSet(state), selectors.hits(state)];
      view = { state, say, topology, layout, path, hits, size, link };
      chrome(root, say, state.briefs.get(state.selected ?? ""), state.view.folding, looking, fit, zoom);
      place(view);
      const { viewport: seen, theme } = view.state.view;
      const { selected, merging, briefs } = state;
      if (painted(say, layout, path, hits, selected, merging, briefs, seen, theme)) repaint();
    },
  };
}

// What the card of the chosen turn shows is said as well.
/**
 * @param {HTMLElement} root
 * @param {Say} say
 * @param {Brief | undefined} brief
 * @param {boolean} folding
 * @param {Pick<Looking, "look">} looking
 * @param {() => void} fit
 * @param {(factor: number) => void} zoom
 */
function chrome(root, say, brief, folding, looking, fit, zoom) {
  const title = brief?.title ?? say("nothing_selected");
  const card = [brief?.summary, brief?.opening, brief?.tags?.join(", ")].filter(Boolean).join(" · ");
  const fold = () => looking.look({ folding: !folding, opened: new Set() });
  render(
    html`<canvas class="picture" tabindex="0" role="img" aria-label=${say("graph_label", { title })} aria-description=${card || nothing}></canvas>
      <canvas class="minimap" width="132" height="96" aria-hidden="true"></canvas>
      <div class="controls">
        <button type="button" aria-label=${say("zoom_in")} title=${say("zoom_in")} @click=${() => zoom(1.25)}>+</button>
        <button type="button" aria-label=${say("zoom_out")} title=${say("zoom_out")} @click=${() => zoom(0.8)}>−</button>
        <button type="button" aria-label=${say("fit")} title=${say("fit")} @click=${fit}>⤢</button>
        <button type="button" aria-pressed=${folding ? "true" : "false"} aria-label=${say("folding")} title=${say("folding")} @click=${fold}>≡</button>
      </div>`,
    root,
  );
}

// At first everything, if its titles can be read then; else the chosen turn, or the newest.
/** @param {Picture} view */
function begin(view) {
  const { layout, topology, state, size } = view;
  if (isReadable(view) || !topology.ids.length) return fitted(boundsOf(layout), size);
  const place = topology.index.get(state.selected ?? "") ?? topology.ids.length - 1;
  const { x, y } = pointOf(layout, place);
  return centred({ x: 0, y: 0, scale: READING }, size, { x: x + 90, y });
}

/** @param {Picture} view */
function isReadable({ layout, size }) {
  return detailAt(fitted(boundsOf(layout), size).scale) !== "dot";
}

// Without a pointer the picture is zoomed about its middle, and the chosen turn stays in sight if it was.
/** @param {Picture} view @param {Viewport} viewport @param {number} factor */
function zoomedByKey(view, viewport, factor) {
  const { size, layout } = view;
  const place = view.topology.index.get(view.state.selected ?? "");
  const next = zoomed(viewport, factor, { x: size.width / 2, y: size.height / 2 });
  if (place === undefined || !holds(viewport, size, boxOf(layout, shownFor(layout, place)))) return next;
  return bringIntoSight(view, next);
}

/** @param {Picture} view @param {Viewport} viewport */
function bringIntoSight({ layout, topology, state, size }, viewport) {
  const place = topology.index.get(state.selected ?? "");
  if (place === undefined) return viewport;
  const box = boxOf(layout, shownFor(layout, place));
  if (holds(viewport, size, box)) return viewport;
  return centred(viewport, size, { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 });
}

// A folded run opens; a turn is chosen.
/** @param {Picture | null} view @param {number | null} place @param {GraphActions} actions @param {boolean} more */
function choose(view, place, { choosing, looking }, more) {
  if (!view || place === null) return;
  const id = view.topology.ids[place];
  if (view.layout.runs.has(place)) looking.look({ opened: new Set(view.state.view.opened).add(id) });
  else if (more) choosing.toggle(id);
  else choosing.open(id);
}

/** @param {Topology} topology @param {number} from @param {number} over */
function isBarred(topology, from, over) {
  return over === from || wouldCircle(topology, topology.ids[from], topology.ids[over]);
}

/** @param {Topology} topology @param {NonNullable<Scene["link"]>} link @param {Element | null} target @param {GraphActions} actions */
function connect({ ids }, { from, over, barred }, target, { composing, edits, asking }) {
  if (target?.closest("#composer")) composing.refer(ids[from]);
  else if (over !== null && over !== from && !barred) edits.connect(ids[from], ids[over]);
  else if (barred && over !== from) asking.tell("circle");
}

/** @param {HTMLCanvasElement} canvas @param {Picture | null} view @param {number | null} place */
function hover(canvas, view, place) {
  canvas.classList.toggle("pointing", place !== null);
  const title = view && place !== null ? (view.state.briefs.get(view.topology.ids[place])?.title ?? "") : "";
  if (canvas.title !== title) canvas.title = title;
}

/** @param {HTMLCanvasElement} canvas @param {Minimap} minimap @param {Picture} view @param {Viewport} viewport @param {Pick<Loading, "briefs">} loading */
function drawPicture(canvas, minimap, view, viewport, loading) {
  const { size } = view;
  if (!size.width || !size.height) return;
  const ratio = devicePixelRatio || 1;
  const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const style = getComputedStyle(canvas);
  /** @type {Record<string, string>} */
  const known = {};
  const colour = (/** @type {string} */ name) => (known[name] ??= style.getPropertyValue(name).trim());
  const scene = { ...view, viewport, colour };
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  loading.briefs(paint(pen, scene, ratio));
  minimap.draw(scene);
}
