// How a turn comes into the picture: below which other it hangs, and which place is free for it.

import { siblingsOf } from "../../state/topology.js";
import { EDGE, firstFrom, LANE } from "./geometry.js";

/** @import { Topology } from "../../state/topology.js" */
/** @import { Layout, Region } from "./layout.js" */

export const APART = 2 * EDGE + 12; // between two conversations
const TRIED_ROWS = 3;
const LOWER = 2 * LANE; // a row further down is worth two lanes aside: below a sibling it looks like what follows that

/** @type {number[]} What most turns have no more of; never added to. */
export const NONE = [];

// The turns of a folded run are drawn as its first.
/** @param {Layout} layout @param {number} place */
export function shownFor(layout, place) {
  return layout.run[place] >= 0 ? layout.run[place] : place;
}

// Below which turns turns hang, in which conversation and row: below all their parents there. One plain loop: this
// runs for every node before the first picture is seen, when nothing is compiled yet (a call for each: 1.3 ms of 10,000, not 1.0).
/** @param {Layout} layout @param {Topology} topology @param {number[]} places In their order. */
export function hang(layout, topology, places) {
  const { parents } = topology;
  const { above, below, region, row, run } = layout;
  for (let number = 0; number < places.length; number++) {
    const place = places[number];
    const over = parents[place];
    if (run[place] >= 0 && run[place] !== place) {
      region[place] = region[run[place]];
      row[place] = row[run[place]];
      continue;
    }
    let first = -1;
    if (over.length && region[over[0]] >= 0) first = run[over[0]] >= 0 ? run[over[0]] : over[0]; // else a circle made by hand
    above[place] = first;
    if (first < 0) begin(layout, topology, place);
    else {
      region[place] = region[first];
      if (below[first] === NONE) below[first] = [place];
      else below[first].push(place);
      row[place] = row[first] + 1;
    }
    if (over.length > 1) merge(layout, place, over);
  }
}

// Below its further parents, too.
/** @param {Layout} layout @param {number} place @param {number[]} over */
function merge(layout, place, over) {
  const { region, row, merges } = layout;
  for (let number = 1; number < over.length; number++) {
    if (region[over[number]] < 0) continue;
    const shown = shownFor(layout, over[number]);
    merges.push([shown, place]);
    if (region[shown] === region[place]) row[place] = Math.max(row[place], row[shown] + 1);
  }
}

// A new conversation, or a further try of one that was begun before.
/** @param {Layout} layout @param {Topology} topology @param {number} place */
function begin({ region, regions }, topology, place) {
  const beside = topology.beginsWith.has(place)
    ? siblingsOf(topology, place).find((each) => region[each] >= 0)
    : undefined;
  region[place] = beside === undefined ? regions.length : region[beside];
  if (beside === undefined)
    regions.push({ roots: [place], left: 0, right: 0, top: 0, bottom: 0, spans: [], count: 0, ragged: false });
  else regions[region[place]].roots.push(place);
}

// That a conversation has so many turns there, one below the other.
/** @param {Region} region @param {number} x @param {number} row @param {number} count */
export function reach(region, x, row, count = 1) {
  const { spans } = region;
  region.count += count;
  if (!spans.length) Object.assign(region, { left: x, right: x, top: row, bottom: row });
  if (x < region.left) region.left = x;
  if (x > region.right) region.right = x;
  if (row + count - 1 > region.bottom) region.bottom = row + count - 1;
  const end = row + count - region.top;
  while (spans.length < end) spans.push([Infinity, -Infinity]);
  for (let at = end - count; at < end; at++) {
    const span = spans[at];
    if (x < span[0]) span[0] = x;
    if (x > span[1]) span[1] = x;
  }
}

/** @param {Layout} layout @param {number} place */
export function noteLong({ above, row, long }, place) {
  if (above[place] >= 0 && row[place] - row[above[place]] > 1) long.push([above[place], place]);
}

// A further turn, in the nearest place that is free.
/** @param {Layout} layout @param {Topology} topology @param {number} place */
export function put(layout, topology, place) {
  hang(layout, topology, [place]);
  const first = layout.above[place];
  const [beside] = layout.regions[layout.region[place]].roots;
  const isTry = first < 0 && beside !== place;
  const { x, row } = slotFor(layout, isTry ? beside : first, isTry ? layout.row[beside] : layout.row[place]);
  layout.x[place] = x;
  layout.row[place] = row;
  const region = layout.regions[layout.region[place]];
  reach(region, x, row);
  for (const other of layout.regions) if (other !== region && meet(region, other)) region.ragged = other.ragged = true;
  const line = (layout.byRow[row] ??= []);
  line.splice(firstFrom(layout, row, x), 0, place);
  noteLong(layout, place);
  if (layout.above[place] >= 0 && isCrossed(layout, layout.above[place], place)) layout.aside.add(place);
}

/** @param {Region} one @param {Region} other */
function meet(one, other) {
  const beside = one.left - LANE > other.right || other.left - LANE > one.right;
  return !beside && one.top <= other.bottom + 1 && other.top <= one.bottom + 1;
}

/**
 * Where a turn below another would stand, from that row on; a new conversation (`above` is -1) begins left of all others.
 * @param {Layout} layout
 * @param {number} above
 * @param {number} row
 * @param {{ x: number, row: number }[]} taken Further places that are not free.
 */
export function slotFor(layout, above, row, taken = []) {
  if (above < 0) {
    let left = Infinity;
    for (const each of layout.regions) if (each.spans.length) left = Math.min(left, each.left);
    for (const each of taken) left = Math.min(left, each.x);
    return { x: left === Infinity ? 0 : left - LANE - APART, row: 0 };
  }
  const wanted = layout.x[above];
  let best = { x: wanted, row };
  let cost = Infinity;
  for (let down = 0; down < TRIED_ROWS && down * LOWER < cost; down++) {
    const x = nearest(wanted, blocked(layout, above, row + down, taken));
    const asked = Math.abs(x - wanted) + down * LOWER;
    if (asked < cost) [best, cost] = [{ x, row: row + down }, asked];
  }
  return best;
}

// Stretches of a row in which no middle of a card can be: of other cards, of what will hang below their neighbours, and of
// other conversations.
/** @param {Layout} layout @param {number} above @param {number} row @param {{ x: number, row: number }[]} taken */
function blocked(layout, above, row, taken) {
  const { byRow, x, regions, region } = layout;
  /** @type {[number, number][]} */
  const found = [];
  const block = (/** @type {number} */ left, /** @type {number} */ right) => found.push([left - LANE, right + LANE]);
  for (const place of byRow[row] ?? []) block(x[place], x[place]);
  for (const place of byRow[row - 1] ?? [])
    if (place !== above && region[place] === region[above]) block(x[place], x[place]);
  for (const each of taken) if (each.row === row || each.row === row - 1) block(each.x, each.x);
  for (let number = 0; number < regions.length; number++) {
    const each = regions[number];
    if (number === region[above] || row + 1 < each.top || row > each.bottom + 1) continue;
    for (const near of [row - 1, row, row + 1]) {
      const span = each.spans[near - each.top];
      if (span && span[0] <= span[1]) block(span[0] - APART, span[1] + APART);
    }
  }
  return found;
}

/** @param {number} wanted @param {[number, number][]} stretches */
function nearest(wanted, stretches) {
  const isFree = (/** @type {number} */ x) => stretches.every(([left, right]) => x <= left || x >= right);
  if (isFree(wanted)) return wanted;
  const ends = stretches.flat().filter(isFree);
  return ends.reduce((best, x) => {
    const [near, known] = [Math.abs(x - wanted), Math.abs(best - wanted)];
    return near < known || (near === known && x > best) ? x : best;
  }, Infinity);
}

// Whether a line to `place` would lie on those of another turn in the gutter.
/** @param {Layout} layout @param {number} above @param {number} place */
function isCrossed({ byRow, row, x, below }, above, place) {
  const [left, right] = [Math.min(x[above], x[place]), Math.max(x[above], x[place])];
  return (byRow[row[above]] ?? []).some((other) => {
    if (other === above || !below[other].length) return false;
    let [from, to] = [x[other], x[other]];
    for (const child of below[other]) [from, to] = [Math.min(from, x[child]), Math.max(to, x[child])];
    return from <= right && to >= left;
  });
}
