// A flow as a graph: who follows whom, and which path leads to a node.
//
// Connections alone decide. Nothing recurses, and files edited by hand may hold circles: every walk remembers its way.
// The first child that a node got goes on in line; later ones branch off. So a new turn never changes what is a branch.

import { Places } from "./places.js";

/** @typedef {{ source: string, target: string, from?: number, to?: number }} Connection `from`, `to`: where the two stood when the flow was read. */
/**
 * @typedef {object} Flow
 * @property {string[]} nodes
 * @property {Connection[]} connections
 * @property {Readonly<Record<string, string>>} [branches] Names of branches, by their first node.
 * @property {Readonly<Record<string, string>>} [opens] Flows that nodes open, by node.
 * @property {Readonly<Record<string, string>>} [begun] When conversations began, by their first node.
 * @property {Readonly<Record<string, string>>} [tries] First prompts that were asked again, or raced: the id of the first try of each.
 */
/**
 * @typedef {object} Topology Nodes by their place in the flow.
 * @property {string[]} ids
 * @property {Places} index
 * @property {number[][]} parents
 * @property {number[][]} children
 * @property {number[]} order Parents before children, else as in the flow; the members of a circle come last.
 * @property {number[]} primary The child that goes on in line, or -1.
 * @property {Map<string, number[]>} tries Nodes that begin the same conversation, by the id of the first try.
 * @property {Map<number, number[]>} beginsWith The same lists, by each of their places.
 */
// What is worked out for every turn before the first title is seen is written in plain loops, and no list is made for nothing.
/** @type {number[]} What most turns have no more of; never added to. */
const NONE = [];

/** @param {Flow} flow @returns {Topology} */
export function topologyOf(flow) {
  return grown(
    {
      ids: [],
      index: new Places(),
      parents: [],
      children: [],
      order: [],
      primary: [],
      tries: new Map(),
      beginsWith: new Map(),
    },
    flow.nodes,
    flow.connections,
    flow.tries,
  );
}

/**
 * With further nodes, and the connections that lead to them. The lists are continued, not copied: the topology before is
 * used up.
 * @param {Topology} before
 * @param {string[]} nodes
 * @param {Connection[]} connections
 * @param {Flow["tries"]} tries
 * @returns {Topology}
 */
export function grown(before, nodes, connections, tries = {}) {
  const { index, parents, children, primary } = before;
  const start = before.ids.length;
  const ids = before.ids.concat(nodes);
  index.of(ids);
  lengthen(parents, ids.length, NONE);
  lengthen(children, ids.length, NONE);
  lengthen(primary, ids.length, -1);
  let inOrder = true; // as mostly: then nothing has to be sorted
  for (let number = 0; number < connections.length; number++) {
    const { source, target, from: stood = -1, to: below = -1 } = connections[number];
    const from = ids[stood] === source ? stood : index.get(source);
    const to = ids[below] === target ? below : index.get(target);
    if (from === undefined || to === undefined) continue;
    if (from >= to) inOrder = false;
    if (children[from] === NONE) children[from] = [to];
    else children[from].push(to);
    if (parents[to] === NONE) parents[to] = [from];
    else parents[to].push(from);
    if (primary[from] < 0 && parents[to][0] === from) primary[from] = to;
  }
  const topology = { ...before, ids };
  if (inOrder) for (let place = start; place < ids.length; place++) before.order.push(place);
  else putInOrder(topology, start);
  groupTries(topology, start, tries);
  return topology;
}

/** @template T @param {T[]} list @param {number} count @param {T} value */
function lengthen(list, count, value) {
  const start = list.length;
  list.length = count;
  list.fill(value, start);
}

// The first try may come last, or not at all: those that name it are siblings all the same.
/** @param {Topology} topology @param {number} start @param {Readonly<Record<string, string>>} firsts */
function groupTries({ ids, index, tries, beginsWith }, start, firsts) {
  for (const id in firsts) if (!tries.has(firsts[id])) tries.set(firsts[id], []);
  if (!tries.size) return;
  for (let place = start; place < ids.length; place++) {
    const first = firsts[ids[place]] ?? ids[place];
    const group = tries.get(first);
    if (!group) continue;
    const known = index.get(first);
    if (!group.length && known !== undefined && known < start) addTry(group, known, beginsWith);
    addTry(group, place, beginsWith);
  }
}

/** @param {number[]} group @param {number} place @param {Map<number, number[]>} beginsWith */
function addTry(group, place, beginsWith) {
  group.push(place);
  beginsWith.set(place, group);
}

// Turns that continue the same one, or begin the same conversation; this one is among them.
/** @param {Topology} topology @param {number} place */
export function siblingsOf({ parents, children, beginsWith }, place) {
  const above = parents[place] ?? NONE;
  if (above.length) return children[above[0]];
  return beginsWith.get(place)?.filter((each) => !parents[each].length) ?? [place];
}

// First turns, the tries of one beginning beside each other.
/** @param {Topology} topology */
export function rootsOf(topology) {
  /** @type {number[]} */
  const roots = [];
  for (let place = 0; place < topology.ids.length; place++) {
    if (topology.parents[place].length) continue;
    const group = topology.beginsWith.has(place) ? siblingsOf(topology, place) : NONE;
    if (group === NONE) roots.push(place);
    else if (group[0] === place) roots.push(...group);
  }
  return roots;
}

/** @param {Topology} topology @param {number} start */
function putInOrder({ parents, children, order }, start) {
  const open = new Int32Array(parents.length - start); // parents that are not in order yet
  for (let place = start; place < parents.length; place++) {
    const above = parents[place];
    for (let number = 0; number < above.length; number++) if (above[number] >= start) open[place - start]++;
  }
  /** @type {number[]} */
  const ready = [];
  for (let next = start; next < parents.length; next++) {
    if (open[next - start] === 0) ready.push(next);
    for (let place = ready.pop(); place !== undefined; place = ready.pop()) {
      order.push(place);
      const below = children[place];
      for (let number = 0; number < below.length; number++) {
        const child = below[number];
        if (child >= start && --open[child - start] === 0 && child < next) ready.push(child);
      }
    }
  }
  open.forEach((count, offset) => count > 0 && order.push(start + offset));
}

// Ids from the beginning to a node, along first parents.
/** @param {Topology} topology @param {string | null} id */
export function pathTo(topology, id) {
  /** @type {string[]} */
  const path = [];
  /** @type {Set<number>} */
  const seen = new Set();
  for (
    let place = topology.index.get(id);
    place !== undefined && !seen.has(place);
    place = topology.parents[place][0]
  ) {
    seen.add(place);
    path.push(topology.ids[place]);
  }
  return path.reverse();
}

// Turns that branch off here. A child alone goes on in line, or belongs to another parent's line.
/** @param {Topology} topology @param {number} place */
export function sidesOf({ parents, children, primary }, place) {
  if (children[place].length < 2) return NONE;
  return children[place].filter((child) => parents[child][0] === place && child !== primary[place]);
}

// Where a step leads: to the parent, to the child that goes on, or to the turn beside (other answers to the same turn).
/** @param {Topology} topology @param {string} id @param {"up" | "down" | "left" | "right"} way */
export function neighbour(topology, id, way) {
  const place = topology.index.get(id);
  if (place === undefined) return null;
  const above = topology.parents[place][0];
  if (way === "up") return above === undefined ? null : topology.ids[above];
  if (way === "down")
    return topology.ids[topology.primary[place] >= 0 ? topology.primary[place] : topology.children[place][0]] ?? null;
  const beside = above === undefined ? rootsOf(topology) : topology.children[above];
  return topology.ids[beside[beside.indexOf(place) + (way === "left" ? -1 : 1)]] ?? null;
}

// The nearest turn on the way up, or on in line, at which lines part or come together.
/** @param {Topology} topology @param {string} id @param {"up" | "down"} way */
export function nextFork(topology, id, way) {
  /** @type {Set<string>} */
  const seen = new Set([id]);
  for (
    let next = neighbour(topology, id, way);
    next !== null && !seen.has(next);
    next = neighbour(topology, next, way)
  ) {
    seen.add(next);
    const place = topology.index.get(next) ?? 0;
    if (topology.children[place].length > 1 || topology.parents[place].length > 1) return next;
  }
  return null;
}

// Whether a connection would lead back to where it starts.
/** @param {Topology} topology @param {string} source @param {string} target */
export function wouldCircle({ index, parents }, source, target) {
  const end = index.get(target);
  const pending = [index.get(source)];
  /** @type {Set<number>} */
  const seen = new Set();
  for (let place = pending.pop(); place !== undefined; place = pending.pop()) {
    if (place === end) return true;
    if (seen.has(place)) continue;
    seen.add(place);
    pending.push(...parents[place]);
  }
  return false;
}

// Where two turns part: the last one that both have on their way, and the rest of each way, the turn itself included.
/** @param {Topology} topology @param {string} one @param {string} other @returns {{ common: string | null, ways: string[][] }} */
export function partingOf(topology, one, other) {
  const [left, right] = [pathTo(topology, one), pathTo(topology, other)];
  let shared = 0;
  while (shared < left.length && left[shared] === right[shared]) shared++;
  return { common: left[shared - 1] ?? null, ways: [left.slice(shared), right.slice(shared)] };
}
