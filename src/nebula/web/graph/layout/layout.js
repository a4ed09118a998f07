// Where each turn stands in the picture: a tidy tree for each conversation, time runs down, the trees packed to the shape
// of the panel, newest first. What is added later finds a free place, and nothing moves until the picture is arranged anew.

import { LANE, ROW } from "./geometry.js";
import { packed } from "./packing.js";
import { APART, hang, NONE, noteLong, put, reach, shownFor } from "./placing.js";
import { stemsOf } from "./stems.js";
import { tidyTree } from "./tree.js";

/** @import { Topology } from "../../state/topology.js" */
/** @import { Stems } from "./stems.js" */
/**
 * @typedef {object} Region A conversation, in middles of cards and rows.
 * @property {number[]} roots Its first turn; several are tries of one beginning.
 * @property {number} left
 * @property {number} right
 * @property {number} top
 * @property {number} bottom
 * @property {[number, number][]} spans From where to where it reaches, by row from its top.
 * @property {number} count
 * @property {boolean} ragged Whether another conversation reaches into its rectangle.
 */
/**
 * @typedef {object} Layout
 * @property {number[]} x By place: the middle of its card.
 * @property {number[]} row By place; the turns of a folded run share one.
 * @property {number[]} above By place: the turn it hangs below, or -1.
 * @property {number[][]} below By place: those that hang below it.
 * @property {number[]} region By place.
 * @property {Region[]} regions
 * @property {number[]} run The first place of the folded run a place is in, else -1.
 * @property {Map<number, number>} runs How many turns a folded run has, by its first place.
 * @property {number[][]} byRow Places that are drawn, from left to right.
 * @property {Set<number>} aside Places whose line runs beside those of others in its gutter.
 * @property {[number, number][]} merges Connections to further parents, as parent and child.
 * @property {[number, number][]} long Lines of the tree that pass a row, as parent and child.
 */

const SHORTEST_RUN = 3;
const SHAPE = 0.7;

/**
 * @param {Topology} topology
 * @param {{ folding?: boolean, opened?: ReadonlySet<string>, shape?: number }} how `folding`: whether runs of turns without
 *   a branch are drawn as one; `opened`: first turns of runs that are drawn all the same; `shape`: width by height.
 * @returns {Layout}
 */
export function layoutOf(topology, { folding = false, opened = new Set(), shape = SHAPE } = {}) {
  const count = topology.ids.length;
  const layout = bare(count, folding ? runsOf(topology, opened) : { run: filled(count, -1), runs: new Map() });
  const { order } = topology;
  hang(layout, topology, order);
  const stems = stemsOf(layout, order);
  const across = tidyTree(stems.tree);
  measure(layout, stems, across);
  putStems(layout, stems, across, arrange(layout, shape));
  if (layout.runs.size) putFolded(layout);
  return layout;
}

/** @param {number} count @param {Pick<Layout, "run" | "runs">} folded @returns {Layout} */
function bare(count, { run, runs }) {
  return {
    x: filled(count, 0),
    row: filled(count, 0),
    above: filled(count, -1),
    below: filled(count, NONE),
    region: filled(count, -1),
    regions: [],
    run,
    runs,
    byRow: [],
    aside: new Set(),
    merges: [],
    long: [],
  };
}

/** @param {Layout} layout */
function sortRows({ byRow, x }) {
  for (const row of byRow) if (row && !isSorted(row, x)) row.sort((one, other) => x[one] - x[other]);
}

/** @param {number[]} row @param {number[]} x */
function isSorted(row, x) {
  for (let at = 1; at < row.length; at++) if (x[row[at]] < x[row[at - 1]]) return false;
  return true;
}

/**
 * After a change that took something away or connected otherwise: all that was there stays where it stood. Returns null
 * where that cannot be, since a turn would stand above one that it continues.
 * @param {ReadonlyMap<string, { x: number, row: number }>} stood By id.
 * @param {Topology} topology
 * @returns {Layout | null}
 */
export function settled(stood, topology) {
  const count = topology.ids.length;
  const layout = bare(count, { run: filled(count, -1), runs: new Map() });
  /** @type {number[]} */
  const later = [];
  for (const place of topology.order) {
    const at = stood.get(topology.ids[place]);
    if (!at) {
      later.push(place);
      continue;
    }
    if (topology.parents[place].some((parent) => !stood.has(topology.ids[parent]))) return null;
    hang(layout, topology, [place]);
    if (layout.above[place] >= 0 && layout.row[place] > at.row) return null;
    [layout.x[place], layout.row[place]] = [at.x, at.row];
    reach(layout.regions[layout.region[place]], at.x, at.row);
    enter(layout, place);
  }
  if (later.length === count) return null;
  sortRows(layout);
  for (const place of later) put(layout, topology, place);
  return layout;
}

/**
 * With the nodes that the topology has more, each in a free place. The lists are continued, not copied.
 * @param {Layout} layout
 * @param {Topology} topology
 * @returns {Layout}
 */
export function extended(layout, topology) {
  const known = layout.x.length;
  for (const list of [layout.run, layout.above, layout.region]) while (list.length < topology.ids.length) list.push(-1);
  for (let place = known; place < topology.ids.length; place++) {
    layout.x.push(0);
    layout.row.push(0);
    layout.below.push(NONE);
  }
  for (let at = topology.order.length - 1, fresh = []; at >= -1; at--) {
    if (at >= 0 && topology.order[at] >= known) fresh.push(topology.order[at]);
    else {
      for (const place of fresh.reverse()) put(layout, topology, place);
      break;
    }
  }
  return { ...layout };
}

/** @template T @param {number} count @param {T} value @returns {T[]} */
const filled = (count, value) => new Array(count).fill(value);

// How far each conversation reaches. The turns of a stem stand below each other: that is asked once for all of them.
/** @param {Layout} layout @param {Stems} stems @param {Float64Array} across By stem. */
function measure({ region, regions, row, runs }, { places }, across) {
  for (let stem = 0; stem < places.length; stem++) {
    const turns = places[stem];
    if (turns.length) reach(regions[region[turns[0]]], across[stem], row[turns[0]], turns.length);
  }
  for (const [first, count] of runs) regions[region[first]].count += count - 1;
}

// Each conversation gets its place: the one that was at work last is first. Returns by how much it goes to the right and down.
/** @param {Layout} layout @param {number} shape */
function arrange({ regions, region }, shape) {
  const newest = filled(regions.length, 0);
  for (let place = 0; place < region.length; place++) newest[region[place]] = place;
  const inOrder = regions.map((_, number) => number).sort((one, other) => newest[other] - newest[one]);
  const extents = inOrder.map((number) => ({
    width: regions[number].right - regions[number].left + LANE + APART,
    rows: regions[number].bottom + 2, // the title of the next is between them
  }));
  const corners = packed(extents, { rowHeight: ROW, shape });
  const away = filled(regions.length, 0);
  const down = filled(regions.length, 0);
  inOrder.forEach((number, at) => {
    const each = regions[number];
    [away[number], down[number]] = [corners[at].left - each.left, corners[at].row];
    each.left += away[number];
    each.right += away[number];
    each.top += down[number];
    each.bottom += down[number];
    for (const span of each.spans) {
      span[0] += away[number];
      span[1] += away[number];
    }
  });
  return { away, down };
}

// Each turn goes where its conversation went, and into its row: stem by stem from the left, so that rows are in order. Turn by
// turn, with the rows sorted at the end, this and `measure` took 3.4 ms of 10,000 before the first picture; so they take 1.6.
/** @param {Layout} layout @param {Stems} stems @param {Float64Array} across @param {{ away: number[], down: number[] }} by */
function putStems({ x, row, region, byRow }, { places }, across, { away, down }) {
  /** @type {number[]} */
  const fromLeft = [];
  for (let stem = 0; stem < places.length; stem++) {
    if (!places[stem].length) continue;
    across[stem] += away[region[places[stem][0]]];
    fromLeft.push(stem);
  }
  fromLeft.sort((one, other) => across[one] - across[other]);
  for (let number = 0; number < fromLeft.length; number++) {
    const turns = places[fromLeft[number]];
    const middle = across[fromLeft[number]];
    let at = row[turns[0]] + down[region[turns[0]]];
    for (let each = 0; each < turns.length; each++, at++) {
      x[turns[each]] = middle;
      row[turns[each]] = at;
      if (byRow[at] === undefined) byRow[at] = [turns[each]];
      else byRow[at].push(turns[each]);
    }
  }
}

// The turns of a folded run stand where its first does.
/** @param {Layout} layout */
function putFolded({ x, row, run }) {
  for (let place = 0; place < run.length; place++) {
    if (run[place] < 0) continue;
    x[place] = x[run[place]];
    row[place] = row[run[place]];
  }
}

/** @param {Layout} layout @param {number} place */
function enter(layout, place) {
  if (shownFor(layout, place) !== place) return;
  (layout.byRow[layout.row[place]] ??= []).push(place);
  noteLong(layout, place);
}

/** @param {Topology} topology @param {ReadonlySet<string>} opened */
function runsOf({ ids, parents, children, order }, opened) {
  const single = (/** @type {number} */ place) => parents[place].length === 1 && children[place].length === 1;
  const inner = ids.map(
    (_, place) => single(place) && children[parents[place][0]].length === 1 && parents[children[place][0]].length === 1,
  );
  const run = ids.map(() => -1);
  /** @type {Map<number, number>} */
  const runs = new Map();
  for (const place of order) {
    if (!inner[place]) continue;
    run[place] = run[parents[place][0]] >= 0 ? run[parents[place][0]] : place;
    runs.set(run[place], (runs.get(run[place]) ?? 0) + 1);
  }
  for (const [first, count] of runs) if (count < SHORTEST_RUN || opened.has(ids[first])) runs.delete(first);
  return { run: run.map((first) => (runs.has(first) ? first : -1)), runs };
}
