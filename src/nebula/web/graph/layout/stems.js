// Stems of a tree of turns: turns one below the other, without a branch, stand in one line. There are far fewer of them than
// of turns, and a line that passes rows takes room there like a narrow one.

import { LANE } from "./geometry.js";

/** @import { Layout } from "./layout.js" */
/** @import { Tree } from "./tree.js" */
/**
 * @typedef {object} Stems
 * @property {Tree} tree
 * @property {number[][]} places By stem: its turns, from top to bottom; none of what only passes rows.
 */

const CHANNEL = 18; // half the room of a line that passes a row

/** @param {Layout} layout @param {number[]} order @returns {Stems} */
export function stemsOf(layout, order) {
  const { above, below, row, region, regions, run, long } = layout;
  /** @type {Tree} */
  const tree = { parent: [], children: [], bottom: [], half: [] };
  const of = new Int32Array(above.length); // by place, the stem that a turn is in
  /** @type {number[][]} */
  const places = [];
  const begin = (/** @type {number} */ over, /** @type {number} */ bottom, /** @type {number} */ half) => {
    const stem = tree.parent.length;
    tree.parent.push(over);
    tree.children.push([]);
    tree.bottom.push(bottom);
    tree.half.push(half);
    places.push([]);
    if (over >= 0) tree.children[over].push(stem);
    return stem;
  };
  // Tries of one beginning hang together.
  const common = regions.map(({ roots }) => (roots.length > 1 ? begin(-1, -1, CHANNEL) : -1));
  for (let number = 0; number < order.length; number++) {
    const place = order[number];
    if (run[place] >= 0 && run[place] !== place) continue;
    const over = above[place];
    const down = row[place];
    if (over < 0) of[place] = begin(common[region[place]], down, LANE / 2);
    else if (down > row[over] + 1) {
      of[place] = begin(begin(of[over], down - 1, CHANNEL), down, LANE / 2);
      long.push([over, place]);
    } else if (below[over].length > 1) of[place] = begin(of[over], down, LANE / 2);
    else {
      of[place] = of[over];
      tree.bottom[of[place]] = down;
    }
    places[of[place]].push(place);
  }
  return { tree, places };
}
