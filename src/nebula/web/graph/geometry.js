// Where the nodes of a layout stand on the plane, how much is shown of them at a distance, and what is under a pointer.

/** @import { Layout } from "./layout.js" */
/** @import { Box, Point } from "./viewport.js" */

export const LANE = 210;
export const ROW = 66;
export const CARD = { width: 186, height: 50 };
const DOT_REACH = 9;

/** @typedef {"dot" | "title" | "summary" | "card"} Detail */

/** @param {number} scale @returns {Detail} */
export function detailAt(scale) {
  if (scale < 0.3) return "dot";
  if (scale < 0.75) return "title";
  return scale < 1.45 ? "summary" : "card";
}

// The left edge of a node, half way down.
/** @param {Layout} layout @param {number} place @returns {Point} */
export function pointOf(layout, place) {
  return { x: layout.lane[place] * LANE, y: layout.row[place] * ROW };
}

/** @param {Layout} layout @param {number} place @returns {Box} */
export function boxOf(layout, place) {
  const { x, y } = pointOf(layout, place);
  return { left: x - 6, top: y - CARD.height / 2, right: x + CARD.width, bottom: y + CARD.height / 2 };
}

/** @param {Layout} layout @returns {Box} */
export function boundsOf(layout) {
  const right = Math.max(1, layout.lanes) * LANE;
  return { left: -20, top: -ROW, right, bottom: Math.max(1, layout.byRow.length) * ROW };
}

// Places that are drawn in these rows and lanes.
/** @param {Layout} layout @param {Box} box */
export function placesIn(layout, box) {
  const first = Math.max(0, Math.floor(box.top / ROW));
  const last = Math.min(layout.byRow.length - 1, Math.ceil(box.bottom / ROW));
  /** @type {number[]} */
  const found = [];
  for (let row = first; row <= last; row++) {
    for (const place of layout.byRow[row] ?? []) {
      const x = layout.lane[place] * LANE;
      if (x + LANE >= box.left && x - LANE <= box.right) found.push(place);
    }
  }
  return found;
}

// The node at a point of the plane, its label and card included.
/** @param {Layout} layout @param {Point} point @param {number} scale */
export function placeAt(layout, point, scale) {
  const reach = DOT_REACH / scale;
  const dots = detailAt(scale) === "dot";
  const near = {
    left: point.x - LANE,
    right: point.x + LANE,
    top: point.y - ROW - reach,
    bottom: point.y + ROW + reach,
  };
  for (const place of placesIn(layout, near)) {
    const box = boxOf(layout, place);
    const { x, y } = pointOf(layout, place);
    const hit = dots
      ? Math.hypot(point.x - x, point.y - y) <= reach
      : point.x >= box.left - reach && point.x <= box.right && point.y >= box.top && point.y <= box.bottom;
    if (hit) return place;
  }
  return null;
}
