// What of the picture is in sight: everything while that can be read, else the chosen turn; nobody gets lost.

import { boundsOf, boxAt, boxOf, detailAt, pointOf, ROW } from "./layout/geometry.js";
import { shownFor } from "./layout/placing.js";
import { centred, fitted, holds, zoomed } from "./layout/viewport.js";

/** @import { State } from "../state/state.js" */
/** @import { Topology } from "../state/topology.js" */
/** @import { Layout } from "./layout/layout.js" */
/** @import { Box, Size, Viewport } from "./layout/viewport.js" */
/** @import { Placed } from "./live.js" */
/** @typedef {{ layout: Layout, topology: Topology, state: State, size: Size, live: Placed[] }} Sight */

const READING = 0.9;
const CONTROLS = 48; // pixels that the buttons above the picture take

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
  return fitted(whole(view), view.size, 1, CONTROLS);
}

// At first everything, if its titles can be read then; else the chosen turn, or the newest.
/** @param {Sight} view */
export function begin(view) {
  const { layout, topology, state, size } = view;
  if (isReadable(view) || !topology.ids.length) return everything(view);
  const place = topology.index.get(state.selected ?? "") ?? topology.ids.length - 1;
  return centred({ x: 0, y: 0, scale: READING }, size, pointOf(layout, place));
}

/** @param {Sight} view */
export function isReadable(view) {
  return detailAt(everything(view).scale) !== "far";
}

// Without a pointer the picture is zoomed about its middle, and the chosen turn stays in sight if it was.
/** @param {Sight} view @param {Viewport} viewport @param {number} factor */
export function zoomedByKey(view, viewport, factor) {
  const { size } = view;
  const box = chosenBox(view);
  const next = zoomed(viewport, factor, { x: size.width / 2, y: size.height / 2 });
  return box && holds(viewport, size, box) ? bringIntoSight(view, next) : next;
}

/** @param {Sight} view @param {Viewport} viewport */
export function bringIntoSight(view, viewport) {
  const box = chosenBox(view);
  if (!box || holds(viewport, view.size, box)) return viewport;
  return centred(viewport, view.size, { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 });
}

// Of the turn at work before the reader, else of the chosen one.
/** @param {Sight} view @returns {Box | null} */
function chosenBox({ layout, topology, state, live }) {
  const atWork = live.find((turn) => turn.id === state.turn);
  if (atWork) return boxAt({ x: atWork.x, y: atWork.row * ROW });
  const place = topology.index.get(state.selected ?? "");
  return place === undefined ? null : boxOf(layout, shownFor(layout, place));
}
