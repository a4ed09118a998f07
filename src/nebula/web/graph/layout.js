// Where each node stands in the picture: time runs down, a line of turns keeps its lane, and nothing moves any more.
//
// Nodes are placed one after the other, each from those before it alone: below its parents, in the lane of its line, or in
// the free lane nearest to where it branches off. So a picture that grows, or is made anew, has everything in its old place.

/** @import { Topology } from "../state/topology.js" */
/** @typedef {{ bottom: number }} Line Turns that go on in one lane, down to this row. */
/**
 * @typedef {object} Layout
 * @property {number[]} lane By place.
 * @property {number[]} row By place; the turns of a folded run share one.
 * @property {number[]} run The first place of the folded run a place is in, else -1.
 * @property {Map<number, number>} runs How many turns a folded run has, by its first place.
 * @property {Line[]} line By place.
 * @property {Uint8Array[]} taken By row and lane: whether a line is there or passes.
 * @property {number} lanes How many there are.
 * @property {number[][]} byRow Places that are drawn.
 * @property {[number, number][]} far Connections over more than one row, as parent and child.
 */

const SHORTEST_RUN = 3;
/** A row that nobody has come to. */
const FREE = new Uint8Array(0);

/**
 * @param {Topology} topology
 * @param {boolean} folding Whether runs of turns without a branch are drawn as one.
 * @param {ReadonlySet<string>} opened First turns of runs that are drawn all the same.
 * @returns {Layout}
 */
export function layoutOf(topology, folding = false, opened = new Set()) {
  const runs = folding ? runsOf(topology, opened) : { run: [], runs: new Map() };
  return extended({ lane: [], row: [], line: [], taken: [], lanes: 0, byRow: [], far: [], ...runs }, topology);
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
  for (const place of topology.order) if (layout.line[place] === undefined) put(layout, topology, place);
  return { ...layout };
}

// Plain loops: this runs for every node before the first picture is seen.
/** @param {Layout} layout @param {Topology} topology @param {number} place */
function put(layout, { parents, primary }, place) {
  const { lane, row, run, line, byRow, far } = layout;
  const inside = run[place] >= 0 && run[place] !== place;
  let down = 0;
  const above = parents[place];
  for (let number = 0; number < above.length; number++)
    if (line[above[number]] !== undefined) down = Math.max(down, row[above[number]] + (inside ? 0 : 1));
  row[place] = down;
  const from = above[0];
  const before = from !== undefined && primary[from] === place ? line[from] : undefined;
  if (before && isFree(layout, lane[from], before.bottom + 1, down + 1)) {
    lane[place] = lane[from];
    line[place] = before;
    take(layout, lane[place], before.bottom + 1, down);
    before.bottom = down;
  } else {
    lane[place] = nearestFree(layout, Math.max(0, lane[from] ?? 0), down);
    line[place] = { bottom: down };
    take(layout, lane[place], down, down);
  }
  if (inside) return;
  (byRow[down] ??= []).push(place);
  for (let number = 0; number < above.length; number++)
    if (line[above[number]] !== undefined && down - row[above[number]] > 1) far.push([above[number], place]);
}

/** @param {Layout} layout @param {number} lane @param {number} top @param {number} bottom */
function take(layout, lane, top, bottom) {
  for (let row = top; row <= bottom; row++) {
    const known = layout.taken[row];
    const lanes = known !== undefined && lane < known.length ? known : (layout.taken[row] = wider(known, lane));
    lanes[lane] = 1;
  }
  if (lane >= layout.lanes) layout.lanes = lane + 1;
}

/** @param {Uint8Array | undefined} lanes @param {number} lane */
function wider(lanes, lane) {
  const more = new Uint8Array(Math.max(8, 2 * lane));
  if (lanes) more.set(lanes);
  return more;
}

/** @param {Layout} layout @param {number} lane @param {number} top @param {number} bottom */
function isFree({ taken }, lane, top, bottom) {
  for (let row = top; row <= bottom; row++) if (taken[row] !== undefined && taken[row][lane]) return false;
  return true;
}

/** @param {Layout} layout @param {number} origin @param {number} row */
function nearestFree({ lanes, taken }, origin, row) {
  const above = taken[row - 1] ?? FREE;
  const here = taken[row] ?? FREE;
  const below = taken[row + 1] ?? FREE;
  for (let away = 0; away <= lanes; away++) {
    const right = origin + away;
    if (right < lanes && !here[right] && !below[right] && !above[right]) return right;
    const left = origin - away;
    if (left >= 0 && !here[left] && !below[left] && !above[left]) return left;
  }
  return lanes;
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
