// Where each node of a flow stands in the picture: time runs down, a line of turns keeps its lane.
//
// y is the longest way from a start. The longest line from a start takes a lane and keeps it; a line that branches off
// takes the free lane nearest to where it came from and gives it back at its end. Adding a turn at the end of a line
// moves nothing else.

/** @import { Topology } from "./topology.js" */
/** @typedef {{ lane: number[], depth: number[], lanes: number, rows: number }} Lanes */

/** @param {Topology} topology @returns {Lanes} */
export function lanesOf(topology) {
  const { order, depth, primary, parents } = topology;
  /** @type {number[]} */
  const lane = new Array(order.length).fill(-1);
  /** @type {number[]} */
  const freeFrom = [];
  const heads = order.filter((place) => parents[place].length === 0 || primary[parents[place][0]] !== place);
  heads.sort((a, b) => depth[a] - depth[b] || topology.height[b] - topology.height[a] || a - b);
  for (const head of heads) {
    const line = lineFrom(head, primary, lane);
    if (!line.length) continue;
    const origin = parents[head].length ? Math.max(0, lane[parents[head][0]]) : 0;
    const chosen = nearestFree(freeFrom, origin, depth[head]);
    freeFrom[chosen] = depth[line[line.length - 1]] + 2;
    for (const place of line) lane[place] = chosen;
  }
  for (let place = 0; place < lane.length; place++) if (lane[place] < 0) lane[place] = 0;
  return { lane, depth, lanes: Math.max(1, freeFrom.length), rows: depth.reduce((most, each) => Math.max(most, each + 1), 0) };
}

/** @param {number} head @param {number[]} primary @param {number[]} lane */
function lineFrom(head, primary, lane) {
  /** @type {number[]} */
  const line = [];
  for (let place = head; place >= 0 && lane[place] === -1; place = primary[place]) {
    lane[place] = -2; // taken: a circle must not walk on for ever
    line.push(place);
  }
  return line;
}

/** @param {number[]} freeFrom @param {number} origin @param {number} depth */
function nearestFree(freeFrom, origin, depth) {
  for (let away = 0; away <= freeFrom.length; away++) {
    for (const candidate of [origin + away, origin - away]) {
      if (candidate >= 0 && candidate < freeFrom.length && freeFrom[candidate] <= depth) return candidate;
    }
  }
  return freeFrom.length;
}
