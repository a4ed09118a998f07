// Where each node stands in the picture: time runs down, a line of turns keeps its lane, and nothing moves any more.
//
// Nodes are placed one after the other, each from those before it alone: below its parents, in the lane of its line, or in
// the free lane nearest to where it branches off. So a picture that grows, or is made anew, has everything in its old place.

/** @import { Topology } from "./topology.js" */
/** @typedef {{ top: number, bottom: number }} Span Rows of a lane that a line has taken. */
/**
 * @typedef {object} Layout
 * @property {number[]} lane By place.
 * @property {number[]} row By place; the turns of a folded run share one.
 * @property {number[]} run The first place of the folded run a place is in, else -1.
 * @property {Map<number, number>} runs How many turns a folded run has, by its first place.
 * @property {Span[]} span By place.
 * @property {Span[][]} taken By lane.
 * @property {number[][]} byRow Places that are drawn.
 * @property {[number, number][]} far Connections over more than one row, as parent and child.
 */

const SHORTEST_RUN = 3;

/**
 * @param {Topology} topology
 * @param {boolean} folding Whether runs of turns without a branch are drawn as one.
 * @param {ReadonlySet<string>} opened First turns of runs that are drawn all the same.
 * @returns {Layout}
 */
export function layoutOf(topology, folding = false, opened = new Set()) {
  const runs = folding ? runsOf(topology, opened) : { run: topology.ids.map(() => -1), runs: new Map() };
  return extended({ lane: [], row: [], span: [], taken: [], byRow: [], far: [], ...runs }, topology);
}

/**
 * With the nodes that the topology has more. The lists are continued, not copied.
 * @param {Layout} layout
 * @param {Topology} topology
 * @returns {Layout}
 */
export function extended(layout, topology) {
  while (layout.run.length < topology.ids.length) layout.run.push(-1);
  for (let next = layout.lane.length; next < topology.order.length; next++) layout.lane.push(-1);
  for (const place of topology.order) if (layout.span[place] === undefined) put(layout, topology, place);
  return { ...layout };
}

/** @param {Layout} layout @param {Topology} topology @param {number} place */
function put(layout, { parents, primary }, place) {
  const { lane, row, run, span, taken, byRow, far } = layout;
  const above = parents[place].filter((parent) => span[parent] !== undefined);
  const inside = run[place] >= 0 && run[place] !== place;
  row[place] = inside ? row[above[0]] : above.reduce((lowest, parent) => Math.max(lowest, row[parent] + 1), 0);
  const from = parents[place][0];
  const line = from !== undefined && primary[from] === place ? span[from] : undefined;
  if (line && goesOn(taken[lane[from]], line, row[place])) {
    lane[place] = lane[from];
    span[place] = line;
    line.bottom = row[place];
  } else {
    lane[place] = nearestFree(taken, lane[from] ?? 0, row[place]);
    span[place] = { top: row[place], bottom: row[place] };
    (taken[lane[place]] ??= []).push(span[place]);
  }
  if (inside) return;
  (byRow[row[place]] ??= []).push(place);
  for (const parent of above) if (row[place] - row[parent] > 1) far.push([parent, place]);
}

/** @param {Span[]} taken @param {Span} line @param {number} row */
function goesOn(taken, line, row) {
  return taken.every((other) => other === line || other.bottom < line.top || other.top > row + 1);
}

/** @param {Span[][]} taken @param {number} origin @param {number} row */
function nearestFree(taken, origin, row) {
  for (let away = 0; away <= taken.length; away++) {
    for (const lane of [origin + away, origin - away]) {
      if (lane >= 0 && lane < taken.length && taken[lane].every(({ top, bottom }) => bottom + 1 < row || top > row + 1)) return lane;
    }
  }
  return taken.length;
}

/** @param {Topology} topology @param {ReadonlySet<string>} opened */
function runsOf({ ids, parents, children, order }, opened) {
  const single = (/** @type {number} */ place) => parents[place].length === 1 && children[place].length === 1;
  const inner = ids.map((_, place) => single(place) && children[parents[place][0]].length === 1 && parents[children[place][0]].length === 1);
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
