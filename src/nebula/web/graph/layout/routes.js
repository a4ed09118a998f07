// How lines run: down from one card into the gutter below it, along gutters and through the gaps between cards, into the
// next card from above. So none passes behind a card and seems to come from there.

import { CARD, firstFrom, LANE, ROW } from "./geometry.js";

/** @import { Layout } from "./layout.js" */
/** @import { Point } from "./viewport.js" */

/** Where in a gutter lines run: of the tree, of turns that found a place later, of merges. */
const TRACK = { tree: 0, aside: -9, merge: 9 };
const BESIDE = 24; // a merge leaves and comes beside the middle
const GAP = 14; // from a card to a line that passes it

/**
 * Return the corners of the line between a turn and one that follows it.
 * @param {Layout} layout
 * @param {number} from
 * @param {number} to
 * @returns {Point[]}
 */
export function routeOf(layout, from, to) {
  const isMerge = layout.above[to] !== from;
  const track = isMerge ? TRACK.merge : layout.aside.has(to) ? TRACK.aside : TRACK.tree;
  const beside = isMerge ? (layout.x[from] <= layout.x[to] ? -BESIDE : BESIDE) : 0;
  const [start, end] = [layout.x[from] - beside, layout.x[to] + beside];
  const [top, bottom] = [layout.row[from], layout.row[to]];
  const gutter = (/** @type {number} */ row) => row * ROW + ROW / 2 + track; // the one below a row
  /** @type {Point[]} */
  const corners = [{ x: start, y: top * ROW + CARD.height / 2 }];
  let x = start;
  const across = (/** @type {number} */ next, /** @type {number} */ row) => {
    if (next !== x) corners.push({ x, y: gutter(row) }, { x: next, y: gutter(row) });
    x = next;
  };
  if (bottom > top)
    for (let row = top + 1; row < bottom; row++) across(gapNear(layout, row, passing(x, end, bottom - row)), row - 1);
  else for (let row = top; row >= bottom; row--) across(gapNear(layout, row, x === start ? end : x), row);
  across(end, bottom - 1);
  corners.push({ x: end, y: bottom * ROW - CARD.height / 2 });
  return corners;
}

// A line that has far to go stays where it is until the last gutter; a short one goes at once to where it will end.
/** @param {number} x @param {number} end @param {number} left */
function passing(x, end, left) {
  return left > 2 ? x : end;
}

// The place nearest to `x` where a line can pass a row.
/** @param {Layout} layout @param {number} row @param {number} x */
function gapNear(layout, row, x) {
  const places = layout.byRow[row] ?? [];
  const room = CARD.width / 2 + GAP;
  const isFree = (/** @type {number} */ middle) => {
    const at = firstFrom(layout, row, middle - room + 0.5); // a card that is just so far away is not in the way
    return at >= places.length || layout.x[places[at]] >= middle + room;
  };
  if (isFree(x)) return x;
  const here = firstFrom(layout, row, x - room);
  for (let away = 0; away <= places.length; away++) {
    const candidates = [];
    for (const at of [here - away, here + away]) {
      const middle = layout.x[places[at]];
      if (middle !== undefined) candidates.push(middle - room, middle + room);
    }
    const free = candidates.filter(isFree);
    if (free.length) return free.reduce((one, other) => (Math.abs(other - x) < Math.abs(one - x) ? other : one));
  }
  return (layout.x[places[places.length - 1]] ?? x) + LANE / 2 + room;
}
