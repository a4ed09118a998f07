// The conversations of late: each by its first turn, with the last one said in it.

/** @import { Topology } from "../state/topology.js" */

const MOST_LOOKED_AT = 2000;

/** @param {Topology} topology @param {number} most @returns {{ first: string, last: string }[]} The latest first. */
export function recentConversations({ ids, parents, beginsWith }, most) {
  /** @type {Map<number, { first: string, last: string }>} */
  const found = new Map();
  const seen = new Uint8Array(ids.length);
  for (let place = ids.length - 1; place >= Math.max(0, ids.length - MOST_LOOKED_AT) && found.size < most; place--) {
    let root = place;
    while (parents[root].length && !seen[root]) {
      seen[root] = 1;
      root = parents[root][0];
    }
    const known = seen[root] === 1;
    seen[root] = 1;
    for (const other of beginsWith.get(root) ?? []) seen[other] = 1; // tries of one prompt are one conversation
    if (!known && !parents[root].length) found.set(root, { first: ids[root], last: ids[place] });
  }
  return [...found.values()];
}
