// What of the picture is in sight: everything while that can be read, else the chosen turn with its conversation; nobody
// gets lost.

import { BLANK, boundsOf, boxAt, boxOf, boxOfRegion, detailAt, ROW } from "./layout/geometry.js";
import { shownFor } from "./layout/placing.js";
import { centred, filled, fitted, holds, panned, zoomed } from "./layout/viewport.js";

/** @import { State } from "../state/state.js" */
/** @import { Topology } from "../state/topology.js" */
/** @import { Layout } from "./layout/layout.js" */
/** @import { Box, Point, Size, Viewport } from "./layout/viewport.js" */
/** @import { Placed } from "./live.js" */
/** @typedef {Size & { below?: number }} Panel `below`: how high the legend is. */
/** @typedef {{ layout: Layout, topology: Topology, state: State, size: Panel, live: Placed[] }} Sight */
/** @typedef {{ card: Box, region: number }} Aim A card, and in which conversation it is, if in one. */

const [NEAREST, FURTHEST] = [0.9, 0.55]; // how a conversation is first seen
const FARTHEST = 0.7; // of the scale at which everything can be seen
const BESIDE = 10; // pixels that stay free on both sides of everything, however small it is
const [ABOVE, BELOW] = [48, 58]; // pixels that the buttons above the picture take, and at least the legend below it
const AROUND_LEGEND = 16;
const TITLE = 20; // pixels of one that stands above its conversation, from afar

/** @param {Panel} size */
const under = ({ below = 0 }) => Math.max(BELOW, below + AROUND_LEGEND);

// Where everything is, turns at work included.
/** @param {Sight} view @returns {Box} */
export function whole({ layout, live }) {
  return live.reduce((box, { x, row }) => {
    const card = boxAt({ x, y: row * ROW });
    return {
      left: Math.min(box.left, card.left - 30),
      top: Math.min(box.top, card.top - 30),
      right: Math.max(box.right, card.right + 30),
      bottom: Math.max(box.bottom, card.bottom + 30),
    };
  }, boundsOf(layout));
}

/** @param {Sight} view */
export function everything(view) {
  const { size } = view;
  const fit = (/** @type {number} */ width, above = ABOVE) =>
    fitted(whole(view), { ...size, width }, 1, above, under(size));
  const { scale } = fit(size.width);
  const beside = Math.max(0, BESIDE - BLANK * scale);
  const above = ABOVE + (detailAt(scale) === "far" ? TITLE : 0);
  return panned(fit(Math.max(1, size.width - 2 * beside), above), -beside, 0);
}

// At first everything, if its titles can be read then; else the conversation of the chosen turn, or what there is around
// the newest.
/** @param {Sight} view */
export function begin(view) {
  const { layout, topology, size } = view;
  if (isReadable(view) || !topology.ids.length) return everything(view);
  const aim = chosen(view);
  if (!aim) return around(view, { x: 0, y: 0, scale: FURTHEST }, aimAt(layout, topology.ids.length - 1));
  const { scale } =
    aim.region < 0 ? { scale: NEAREST } : fitted(homeOf(layout, aim), size, NEAREST, ABOVE, under(size));
  return around(view, { x: 0, y: 0, scale: Math.max(FURTHEST, scale) }, aim);
}

/** @param {Sight} view */
export function isReadable(view) {
  return detailAt(everything(view).scale) !== "far";
}

// Not much further away than everything is seen, and then without more blank space than there must be. Without a pointer
// about the middle; the chosen turn stays in sight.
/** @param {Sight} view @param {Viewport} viewport @param {number} factor @param {Point | null} at */
export function zoomedTo(view, viewport, factor, at) {
  const { size } = view;
  const least = FARTHEST * everything(view).scale;
  const next = zoomed(viewport, factor, at ?? { x: size.width / 2, y: size.height / 2 }, least);
  if (factor < 1) return panned(filled(panned(next, 0, ABOVE), between(size), whole(view)), 0, -ABOVE);
  const aim = at ? null : chosen(view);
  return aim && isSeen(view, viewport, aim.card) ? bringIntoSight(view, next) : next;
}

// As near as it was, or, where that is `free`, so that its conversation can be seen.
/** @param {Sight} view @param {Viewport} viewport @param {boolean} free */
export function bringIntoSight(view, viewport, free = false) {
  const aim = chosen(view);
  if (!aim || isSeen(view, viewport, aim.card)) return viewport;
  return free ? begin(view) : around(view, viewport, aim);
}

// Neither outside nor behind what lies over the picture.
/** @param {Sight} view @param {Viewport} viewport @param {Box} card */
function isSeen({ size }, viewport, card) {
  return holds(panned(viewport, 0, ABOVE), between(size), card);
}

/** @param {Panel} size @returns {Size} */
const between = (size) => ({ width: size.width, height: Math.max(1, size.height - ABOVE - under(size)) });

// With the card in the middle, or its conversation where that can be seen whole, and no more blank space than there must be.
/** @param {Sight} view @param {Viewport} viewport @param {Aim} aim */
function around(view, viewport, aim) {
  const room = between(view.size);
  const seen = (/** @type {Box} */ box) => filled(centred(viewport, room, middleOf(box)), room, whole(view));
  const home = seen(homeOf(view.layout, aim));
  return panned(holds(home, room, aim.card) ? home : seen(aim.card), 0, -ABOVE);
}

/** @param {Layout} layout @param {Aim} aim */
function homeOf({ regions }, { card, region }) {
  return region < 0 ? card : boxOfRegion(regions[region]);
}

/** @param {Box} box @returns {Point} */
const middleOf = ({ left, right, top, bottom }) => ({ x: (left + right) / 2, y: (top + bottom) / 2 });

// The turn at work before the reader, else the chosen one.
/** @param {Sight} view @returns {Aim | null} */
function chosen({ layout, topology, state, live }) {
  const atWork = live.find((turn) => turn.id === state.turn);
  if (atWork) return { card: boxAt({ x: atWork.x, y: atWork.row * ROW }), region: layout.region[atWork.above] ?? -1 };
  const place = topology.index.get(state.selected);
  return place === undefined ? null : aimAt(layout, place);
}

/** @param {Layout} layout @param {number} place @returns {Aim} */
const aimAt = (layout, place) => ({ card: boxOf(layout, shownFor(layout, place)), region: layout.region[place] });
