// A tidy tree: every node centred over its children, siblings in order, subtrees as near to each other as they go. In one
// pass up and one down (after Buchheim, Jünger and Leipert), without recursion: a conversation may be as long as it likes.

/**
 * @typedef {object} Tree
 * @property {number[][]} children By node, from left to right.
 * @property {number[]} parent By node; -1 for a root.
 * @property {number[]} order Parents before their children.
 * @property {number[]} half By node: half of the room it takes, with the gap beside it.
 */

/**
 * Return the middle of each node, from left to right; every tree has its root's at a place of its own.
 * @param {Tree} tree
 */
export function tidyTree({ children, parent, order, half }) {
  const count = children.length;
  const x = new Float64Array(count); // from the parent's, until the way down
  const moved = new Float64Array(count); // what is below a node goes along
  const shift = new Float64Array(count);
  const change = new Float64Array(count);
  const thread = new Int32Array(count).fill(-1);
  const ancestor = Int32Array.from({ length: count }, (_, node) => node);
  const number = new Int32Array(count);
  const onLeft = (/** @type {number} */ node) => (children[node].length ? children[node][0] : thread[node]);
  const onRight = (/** @type {number} */ node) =>
    children[node].length ? children[node][children[node].length - 1] : thread[node];

  // Pushes a subtree away from those on its left, by what the contours ask for.
  /** @param {number} node @param {number} left @param {number} first @param {number} fallback */
  function apportion(node, left, first, fallback) {
    let [insideRight, outsideRight, insideLeft, outsideLeft] = [node, node, left, first];
    let [sumInRight, sumOutRight] = [moved[node], moved[node]];
    let [sumInLeft, sumOutLeft] = [moved[left], moved[first]];
    while (onRight(insideLeft) >= 0 && onLeft(insideRight) >= 0) {
      insideLeft = onRight(insideLeft);
      insideRight = onLeft(insideRight);
      outsideLeft = onLeft(outsideLeft);
      outsideRight = onRight(outsideRight);
      ancestor[outsideRight] = node;
      const by = x[insideLeft] + sumInLeft - (x[insideRight] + sumInRight) + half[insideLeft] + half[insideRight];
      if (by > 0) {
        const known = ancestor[insideLeft];
        const from = parent[known] === parent[node] ? known : fallback;
        const between = number[node] - number[from];
        change[node] -= by / between;
        shift[node] += by;
        change[from] += by / between;
        x[node] += by;
        moved[node] += by;
        sumInRight += by;
        sumOutRight += by;
      }
      sumInLeft += moved[insideLeft];
      sumInRight += moved[insideRight];
      sumOutLeft += moved[outsideLeft];
      sumOutRight += moved[outsideRight];
    }
    if (onRight(insideLeft) >= 0 && onRight(outsideRight) < 0) {
      thread[outsideRight] = onRight(insideLeft);
      moved[outsideRight] += sumInLeft - sumOutRight;
    }
    if (onLeft(insideRight) >= 0 && onLeft(outsideLeft) < 0) {
      thread[outsideLeft] = onLeft(insideRight);
      moved[outsideLeft] += sumInRight - sumOutLeft;
      return node;
    }
    return fallback;
  }

  const middleOf = (/** @type {number} */ node) => {
    const below = children[node];
    return below.length ? (x[below[0]] + x[below[below.length - 1]]) / 2 : 0;
  };
  for (let at = order.length - 1; at >= 0; at--) {
    const below = children[order[at]];
    let fallback = below[0];
    for (let place = 0; place < below.length; place++) {
      const node = below[place];
      number[node] = place;
      const middle = middleOf(node);
      if (!place) {
        x[node] = middle;
        continue;
      }
      const left = below[place - 1];
      x[node] = x[left] + half[left] + half[node];
      if (children[node].length) moved[node] = x[node] - middle;
      fallback = apportion(node, left, below[0], fallback);
    }
    let [shifts, changes] = [0, 0];
    for (let place = below.length - 1; place >= 0; place--) {
      const node = below[place];
      x[node] += shifts;
      moved[node] += shifts;
      changes += change[node];
      shifts += shift[node] + changes;
    }
  }
  const sum = new Float64Array(count);
  for (const node of order) {
    const above = parent[node];
    if (above < 0) x[node] = middleOf(node);
    else sum[node] = sum[above] + moved[above];
    x[node] += sum[node];
  }
  return x;
}
