// Measures of the picture, and what of it is where: cards stand in rows, with gutters between them in which the lines run.

/** @import { Layout, Region } from "./layout.js" */
/** @import { Box, Point } from "./viewport.js" */

export const CARD = { width: 240, height: 72 };
export const LANE = 272;
export const ROW = 116;
/** How far the ground of a conversation reaches beyond its cards. */
export const EDGE = 18;
/** The strip above its first card, where its title is. */
export const HEAD = 40;
/** What stays blank around everything. */
export const BLANK = 12;
const REACH = 6; // pixels around a card that is small

/** @typedef {"far" | "title" | "card"} Detail */

/** @param {number} scale @returns {Detail} */
export function detailAt(scale) {
  if (scale < 0.4) return "far";
  return scale < 1.15 ? "title" : "card";
}

// The middle of a card.
/** @param {Layout} layout @param {number} place @returns {Point} */
export function pointOf(layout, place) {
  return { x: layout.x[place], y: layout.row[place] * ROW };
}

/** @param {Layout} layout @param {number} place @returns {Box} */
export function boxOf(layout, place) {
  return boxAt(pointOf(layout, place));
}

/** @param {Point} middle @returns {Box} */
export function boxAt({ x, y }) {
  return { left: x - CARD.width / 2, top: y - CARD.height / 2, right: x + CARD.width / 2, bottom: y + CARD.height / 2 };
}

/** @param {Region} region @returns {Box} */
export function boxOfRegion({ left, right, top, bottom }) {
  return {
    left: left - CARD.width / 2 - EDGE,
    top: top * ROW - CARD.height / 2 - HEAD,
    right: right + CARD.width / 2 + EDGE,
    bottom: bottom * ROW + CARD.height / 2 + EDGE,
  };
}

/** @param {Layout} layout @returns {Box} */
export function boundsOf({ regions }) {
  if (!regions.length) return { left: -LANE / 2, top: -ROW, right: LANE / 2, bottom: ROW };
  const all = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const region of regions) {
    const box = boxOfRegion(region);
    all.left = Math.min(all.left, box.left);
    all.top = Math.min(all.top, box.top);
    all.right = Math.max(all.right, box.right);
    all.bottom = Math.max(all.bottom, box.bottom);
  }
  return { left: all.left - BLANK, top: all.top - BLANK, right: all.right + BLANK, bottom: all.bottom + BLANK };
}

// Places whose cards are at least partly in a box.
/** @param {Layout} layout @param {Box} box */
export function placesIn(layout, box) {
  const first = Math.max(0, Math.ceil((box.top - CARD.height / 2) / ROW));
  const last = Math.min(layout.byRow.length - 1, Math.floor((box.bottom + CARD.height / 2) / ROW));
  /** @type {number[]} */
  const found = [];
  for (let row = first; row <= last; row++) {
    const places = layout.byRow[row] ?? [];
    for (let at = firstFrom(layout, row, box.left - CARD.width / 2); at < places.length; at++) {
      if (layout.x[places[at]] > box.right + CARD.width / 2) break;
      found.push(places[at]);
    }
  }
  return found;
}

// Where in a row the first card from `x` on stands.
/** @param {Pick<Layout, "byRow" | "x">} layout @param {number} row @param {number} x */
export function firstFrom({ byRow, x: across }, row, x) {
  const places = byRow[row] ?? [];
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (across[places[middle]] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The card at a point of the plane; small ones reach a little further.
/** @param {Layout} layout @param {Point} point @param {number} scale */
export function placeAt(layout, point, scale) {
  const reach = scale < 0.4 ? REACH / scale : 0;
  const near = { left: point.x - reach, right: point.x + reach, top: point.y - reach, bottom: point.y + reach };
  let best = null;
  let least = Infinity;
  for (const place of placesIn(layout, near)) {
    const { x, y } = pointOf(layout, place);
    const away = Math.hypot(x - point.x, y - point.y);
    if (away < least) [best, least] = [place, away];
  }
  return best;
}
