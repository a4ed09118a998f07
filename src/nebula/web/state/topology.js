// A flow as a graph: who follows whom, which path leads to a node, and the rows of its outline.
//
// Connections alone decide. Nothing recurses, and files edited by hand may hold circles: every walk remembers its way.

/** @typedef {{ nodes: string[], connections: { source: string, target: string }[] }} Flow */
/**
 * @typedef {object} Topology Nodes by their place in the flow.
 * @property {string[]} ids
 * @property {Map<string, number>} index
 * @property {number[][]} parents
 * @property {number[][]} children
 * @property {number[]} order Parents before children.
 * @property {number[]} depth
 * @property {number[]} height
 * @property {number[]} primary
 */
/** @typedef {{ id: string, level: number, branches: number, folded: boolean }} Row */

/** @param {Flow} flow @returns {Topology} */
export function topologyOf(flow) {
  const ids = flow.nodes;
  const index = new Map(ids.map((id, place) => [id, place]));
  const parents = ids.map(() => /** @type {number[]} */ ([]));
  const children = ids.map(() => /** @type {number[]} */ ([]));
  for (const { source, target } of flow.connections) {
    const from = index.get(source);
    const to = index.get(target);
    if (from === undefined || to === undefined) continue;
    children[from].push(to);
    parents[to].push(from);
  }
  const order = inOrder(parents, children);
  return { ids, index, parents, children, order, ...measured(order, parents, children) };
}

// Parents before children; the members of a circle come last.
/** @param {number[][]} parents @param {number[][]} children */
function inOrder(parents, children) {
  const open = parents.map((above) => above.length);
  /** @type {number[]} */
  const order = [];
  open.forEach((count, place) => count === 0 && order.push(place));
  for (let next = 0; next < order.length; next++) {
    for (const child of children[order[next]]) if (--open[child] === 0) order.push(child);
  }
  if (order.length < parents.length) {
    const seen = new Set(order);
    parents.forEach((_, place) => seen.has(place) || order.push(place));
  }
  return order;
}

// `depth`: the longest way from a start; `height`: the longest way to an end; `primary`: the child that goes on in line.
/** @param {number[]} order @param {number[][]} parents @param {number[][]} children */
function measured(order, parents, children) {
  /** @type {number[]} */
  const depth = new Array(order.length).fill(0);
  /** @type {number[]} */
  const height = new Array(order.length).fill(0);
  /** @type {number[]} */
  const primary = new Array(order.length).fill(-1);
  for (const place of order) for (const parent of parents[place]) depth[place] = Math.max(depth[place], depth[parent] + 1);
  for (let next = order.length - 1; next >= 0; next--) {
    const place = order[next];
    for (const child of children[place]) {
      height[place] = Math.max(height[place], height[child] + 1);
      if (parents[child][0] !== place) continue;
      if (primary[place] < 0 || height[child] > height[primary[place]]) primary[place] = child;
    }
  }
  return { depth, height, primary };
}

// Ids from the beginning to a node, along first parents.
/** @param {Topology} topology @param {string} id */
export function pathTo(topology, id) {
  /** @type {string[]} */
  const path = [];
  /** @type {Set<number>} */
  const seen = new Set();
  for (let place = topology.index.get(id); place !== undefined && !seen.has(place); place = topology.parents[place][0]) {
    seen.add(place);
    path.push(topology.ids[place]);
  }
  return path.reverse();
}

// The outline: a line of turns keeps its level, its side branches stand below the turn they leave, one level in.
// Rows are {id, level, branches, folded}; what is below a folded row is left out.
/** @param {Topology} topology @param {ReadonlySet<string>} folded @returns {Row[]} */
export function rowsOf(topology, folded = new Set()) {
  const { ids, parents, children, primary } = topology;
  /** @type {Row[]} */
  const rows = [];
  /** @type {Set<number>} */
  const seen = new Set();
  const walk = (/** @type {number} */ start) => {
    const pending = [[start, 1]];
    for (let next = pending.pop(); next; next = pending.pop()) {
      const [place, level] = next;
      if (seen.has(place)) continue;
      seen.add(place);
      const sides = children[place].filter((child) => parents[child][0] === place && child !== primary[place]);
      const isFolded = sides.length > 0 && folded.has(ids[place]);
      rows.push({ id: ids[place], level, branches: sides.length, folded: isFolded });
      if (primary[place] >= 0) pending.push([primary[place], level]);
      if (isFolded) hide(sides, children, parents, seen);
      else for (const side of sides.reverse()) pending.push([side, level + 1]);
    }
  };
  parents.forEach((above, place) => above.length === 0 && walk(place));
  ids.forEach((_, place) => walk(place));
  return rows;
}

/** @param {number[]} starts @param {number[][]} children @param {number[][]} parents @param {Set<number>} seen */
function hide(starts, children, parents, seen) {
  const pending = [...starts];
  for (let place = pending.pop(); place !== undefined; place = pending.pop()) {
    if (seen.has(place)) continue;
    seen.add(place);
    for (const child of children[place]) if (parents[child][0] === place) pending.push(child);
  }
}
