// The flow as a picture: one canvas, moved by dragging and wheel, zoomed to show more or less of each turn. The outline
// says the same to those who cannot see it.

import { html, render } from "../lib/lit.js";
import { different, remembered } from "../state/selectors.js";
import { neighbour, wouldCircle } from "../state/topology.js";
import { chrome } from "./chrome.js";
import { createGrowing } from "./growing.js";
import { detailAt, placeAt } from "./layout/geometry.js";
import { centred, kept, panned } from "./layout/viewport.js";
import { placeLive } from "./live.js";
import { drawHovered, drawLive } from "./overlay.js";
import { roomOf } from "./picture/cards.js";
import { colouringOf } from "./picture/colouring.js";
import { createMinimap } from "./picture/minimap.js";
import { paint } from "./picture/paint.js";
import { nameOfFlow } from "./picture/scene.js";
import { followPointer } from "./pointer.js";
import { begin, bringIntoSight, everything, isReadable, whole, zoomedTo } from "./sight.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { Looking } from "../app/looking.js" */
/** @import { ComposingActions } from "../composer/actions.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Asking } from "../server/asking.js" */
/** @import { Loading } from "../server/loading.js" */
/** @import { Selectors } from "../state/selectors.js" */
/** @import { State } from "../state/state.js" */
/** @import { Topology } from "../state/topology.js" */
/** @import { Edits } from "./edits.js" */
/** @import { Layout } from "./layout/layout.js" */
/** @import { Point, Size, Viewport } from "./layout/viewport.js" */
/** @import { Placed } from "./live.js" */
/** @import { Handles } from "./overlay.js" */
/** @import { Colouring } from "./picture/colouring.js" */
/** @import { Link, Scene } from "./picture/scene.js" */
/** @import { Panel } from "./sight.js" */
/**
 * @typedef {object} GraphActions
 * @property {Choosing} choosing
 * @property {Pick<Looking, "look">} looking
 * @property {Edits} edits
 * @property {Pick<ComposingActions, "refer">} composing
 * @property {Pick<Asking, "tell">} asking
 * @property {Pick<Loading, "briefs">} loading
 * @property {Selectors} selectors
 * @property {Handles} handles
 */
/**
 * @typedef {object} Picture What was drawn last.
 * @property {State} state
 * @property {Say} say
 * @property {Topology} topology
 * @property {Layout} layout
 * @property {Set<string>} path
 * @property {Set<string> | null} hits
 * @property {Placed[]} live
 * @property {Colouring} colouring
 * @property {Panel} size
 */

const STAY_MS = 180;
const LEAST_WIDTH = 100;
/** Where the graph has no room beside the conversation. */
export const NARROW = "(min-width: 60rem) and (max-width: 74.99rem)";
/** @type {Record<string, "up" | "down" | "left" | "right">} */
const WAYS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

/** @param {HTMLElement} root @param {GraphActions} actions @param {{ readonly state: State }} store @param {Say} words */
export function createGraph(root, actions, store, words) {
  const { choosing, looking, loading, selectors, handles } = actions;
  /** @type {Panel} */
  let size = { width: 0, height: 0 };
  /** @type {Picture | null} */
  let view = null;
  /** @type {string | null | undefined} The turn that was brought into sight last. */
  let placed;
  /** @type {Viewport | null} What nobody but us chose: it may be another for another conversation. */
  let ours = null;
  /** @type {Link | null} */
  let link = null;
  /** @type {number | null} */
  let hovered = null;
  let leaving = 0;
  const narrow = matchMedia(NARROW);
  const colouring = remembered(colouringOf);
  const liveAt = remembered(placeLive);

  // As it will be drawn next: a hand that is quicker than the frames moves on from there.
  const viewport = (/** @type {Picture} */ now) => store.state.view.viewport ?? begin(now);
  const look = (/** @type {(now: Picture) => Viewport} */ next) => {
    if (view) looking.look({ viewport: kept(next(view), size, whole(view)) });
  };
  /** @param {number} factor @param {Point | null} at */
  const zoom = (factor, at = null) => look((now) => zoomedTo(now, viewport(now), factor, at));
  // After the frame that is on its way: the panel may just have been opened, and a run that was counts with all its turns.
  // Who asks for everything sees it arranged anew.
  const fit = () => {
    if (isRail()) return buttons.widen(); // all of it is in sight there already: it is meant to be read
    requestAnimationFrame(() => {
      measure();
      looking.look({ arranged: store.state.view.arranged + 1, shape: shapeOf(size) });
      requestAnimationFrame(() => look(everything));
    });
  };
  const buttons = {
    fit,
    zoom,
    fold: () => looking.look({ folding: !store.state.view.folding, opened: new Set() }),
    widen: () => looking.look({ wide: !store.state.view.wide, viewport: null }),
    colourBy: (/** @type {any} */ by) => looking.look({ colourBy: by }),
  };
  render(chrome(store.state, words, null, null, buttons), root);
  const canvas = /** @type {HTMLCanvasElement} */ (root.querySelector("canvas.picture"));
  const corner = /** @type {HTMLCanvasElement} */ (root.querySelector("canvas.minimap"));
  const minimap = createMinimap(corner, (point) => {
    if (isRail()) looking.look({ wide: true, viewport: null });
    else look((now) => centred(viewport(now), size, point));
  });
  const isRail = () => narrow.matches && !store.state.view.wide;
  const growing = createGrowing(() => repaint());
  const at = (/** @type {Point} */ point) => {
    if (!view) return null; // nothing is drawn yet
    const { x, y, scale } = viewport(view);
    return placeAt(view.layout, { x: point.x / scale + x, y: point.y / scale + y }, scale);
  };
  /** @param {Picture} now @returns {Scene} */
  const sceneOf = (now) => {
    const style = getComputedStyle(canvas);
    /** @type {Record<string, string>} */
    const known = {};
    const colour = (/** @type {string} */ name) => (known[name] ??= style.getPropertyValue(name).trim());
    return {
      ...now,
      size,
      link,
      hovered,
      viewport: viewport(now),
      colour,
      font: style.fontFamily,
      grown: growing.grown,
    };
  };
  function repaint() {
    root.classList.toggle("rail", isRail());
    root.classList.toggle("wide", narrow.matches && store.state.view.wide);
    if (!view || !size.width || !size.height) return;
    const scene = sceneOf(view);
    const ratio = devicePixelRatio || 1;
    const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    loading.briefs(paint(pen, scene, ratio));
    minimap.draw(scene, isRail());
    render(chrome(view.state, view.say, view.colouring, over(view, scene), buttons), root);
  }
  /** @param {Picture} now @param {Scene} scene */
  function over(now, scene) {
    const { state, topology, say } = now;
    if (!topology.ids.length && !now.live.length) return html`<p class="nothing">${say("no_nodes")}</p>`;
    const under = detailAt(scene.viewport.scale) === "far" || link ? null : hovered;
    const id = under === null ? "" : topology.ids[under];
    const shown =
      under === null || now.layout.runs.has(under)
        ? null
        : {
            id,
            brief: state.briefs.get(id),
            room: roomOf(scene, under),
            chosen: state.merging.includes(id),
            comparable: state.selected !== null && state.selected !== id,
            opens: nameOfFlow(state, state.flow.opens?.[id]),
          };
    return [
      drawLive(now.live, scene.viewport, say, choosing.watch),
      drawHovered(shown, size, say, handles, () => clearTimeout(leaving), leave),
    ];
  }
  /** @param {number | null} under */
  const hover = (under) => {
    clearTimeout(leaving);
    canvas.classList.toggle("pointing", under !== null);
    if (under === hovered) return;
    if (under === null) return leave();
    hovered = under;
    repaint();
  };
  const leave = () => {
    clearTimeout(leaving);
    leaving = window.setTimeout(() => {
      hovered = null;
      repaint();
    }, STAY_MS);
  };
  canvas.addEventListener("pointerleave", leave);
  followPointer(canvas, {
    pan: (byX, byY) => look((now) => panned(viewport(now), byX, byY)),
    zoom,
    click: (point, more) => choose(view, at(point), actions, more),
    hover: (point) => hover(at(point)),
    grab(point) {
      const from = at(point);
      link = from === null || view?.layout.runs.has(from) ? null : { from, point: null, over: null, barred: false };
      return link !== null;
    },
    draw(point) {
      const onto = at(point);
      if (!link || !view) return;
      link = { ...link, point, over: onto, barred: onto !== null && isBarred(view.topology, link.from, onto) };
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
  const measure = () => {
    const legend = /** @type {HTMLElement | null} */ (root.querySelector(".legend"));
    size = { width: canvas.clientWidth, height: canvas.clientHeight, below: legend?.offsetHeight };
  };
  // Asking for the size while other parts are being drawn would lay out the page once more.
  new ResizeObserver(() => {
    const { width, height } = size;
    measure();
    if (size.width === width && size.height === height) return;
    if (view) place(Object.assign(view, { size }));
    repaint();
  }).observe(canvas);

  // The chosen turn is in sight. Until the reader moves it, the picture shows everything for as long as that can be read.
  /** @param {Picture} now */
  function place(now) {
    const { state } = now;
    if (size.width < LEAST_WIDTH) return; // a rail shows all of it
    const wanted = state.turn && now.live.some((turn) => turn.id === state.turn) ? state.turn : state.selected;
    const moved = placed !== wanted;
    placed = wanted;
    const before = state.view.viewport;
    const following = before === null && isReadable(now);
    const seen = moved ? bringIntoSight(now, viewport(now), before === ours) : viewport(now);
    if (seen === before || !state.flow.nodes.length || following) return;
    ours = seen;
    looking.look({ viewport: seen });
    now.state = store.state;
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  narrow.addEventListener("change", repaint);
  return {
    fit,
    zoom,
    /** @param {State} state @param {Say} say */
    draw(state, say) {
      if (!size.width) measure();
      const [topology, layout] = [selectors.topology(state), selectors.layout(state)];
      const [path, hits] = [selectors.pathSet(state), selectors.hits(state)];
      const live = liveAt(selectors.live(state), layout, topology);
      const by = state.view.colourBy;
      if (view && view.topology.index === topology.index) grow(view, topology);
      else hovered = null;
      view = { state, say, topology, layout, path, hits, live, size, colouring: colouring(state.briefs, by) };
      place(view);
      const { viewport: seen, theme, folding, wide } = view.state.view;
      const { selected, merging, briefs, flow } = state;
      const named = flow.opens ? state.flows : null; // of those that its cards name
      if (
        painted(say, layout, path, hits, selected, merging, briefs, seen, theme, live, by, folding, wide, flow, named)
      )
        repaint();
    },
  };

  // Those that stood there while they were at work are there already.
  /** @param {Picture} before @param {Topology} topology */
  function grow(before, topology) {
    const count = before.layout.x.length;
    const here = new Set(before.live.map((turn) => turn.id));
    const fresh = topology.ids.slice(count).flatMap((id, number) => (here.has(id) ? [] : [count + number]));
    if (fresh.length) growing.begin(fresh);
  }
}

// Width by height, in a few steps: a panel that is a little wider is no reason to arrange everything anew.
/** @param {Size} size */
function shapeOf({ width, height }) {
  return 2 ** (Math.round(Math.log2(Math.max(1, width) / Math.max(1, height)) * 2) / 2);
}

// A folded run opens; a turn is chosen.
/** @param {Picture | null} view @param {number | null} place @param {GraphActions} actions @param {boolean} more */
function choose(view, place, { choosing, looking }, more) {
  if (!view || place === null) return;
  const id = view.topology.ids[place];
  if (view.layout.runs.has(place)) looking.look({ opened: new Set(view.state.view.opened).add(id) });
  else if (more) choosing.toggle(id);
  else choosing.open(id);
  if (view.state.view.wide) looking.look({ wide: false }); // what was chosen is read beside it
}

/** @param {Topology} topology @param {number} from @param {number} over */
function isBarred(topology, from, over) {
  return over === from || wouldCircle(topology, topology.ids[from], topology.ids[over]);
}

/** @param {Topology} topology @param {Link} link @param {Element | null} target @param {GraphActions} actions */
function connect({ ids }, { from, over, barred }, target, { composing, edits, asking }) {
  if (target?.closest("#composer")) composing.refer(ids[from]);
  else if (over !== null && over !== from && !barred) edits.connect(ids[from], ids[over]);
  else if (barred && over !== from) asking.tell("circle");
}
