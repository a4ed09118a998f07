// A tidy tree: every stem centred over those that grow out of it, in their order, as near to each other as they go. In one
// pass up and one down (after van der Ploeg), without recursion: a conversation may be as deep as it likes. Plain loops: this
// runs before the first picture is seen, when nothing is compiled yet.

/**
 * @typedef {object} Tree A parent has a lower number than what grows out of it, and ends in the row above.
 * @property {number[]} parent By stem; -1 for a root.
 * @property {number[][]} children By stem, from left to right.
 * @property {number[]} bottom By stem: its last row.
 * @property {number[]} half By stem: half of the room it takes, with the gap beside it.
 */

/**
 * Return the middle of each stem; every tree is placed by itself, around nothing in particular.
 * @param {Tree} tree
 */
export function tidyTree(tree) {
  const { parent, children } = tree;
  const work = begin(parent.length);
  const { at, moved } = work;
  for (let stem = parent.length - 1; stem >= 0; stem--) {
    const above = children[stem];
    if (!above.length) continue;
    if (above.length > 1) pushApart(tree, work, above);
    const first = above[0];
    const last = above[above.length - 1];
    at[stem] = (at[first] + moved[first] + at[last] + moved[last]) / 2;
    work.left[stem] = work.left[first];
    work.leftSum[stem] = work.leftSum[first];
    work.right[stem] = work.right[last];
    work.rightSum[stem] = work.rightSum[last];
  }
  for (let stem = 0; stem < parent.length; stem++) {
    if (parent[stem] >= 0) moved[stem] += moved[parent[stem]];
    if (children[stem].length > 2) spread(work, children[stem]);
    at[stem] += moved[stem];
  }
  return at;
}

/** @typedef {ReturnType<typeof begin>} Work */

/** @param {number} count */
function begin(count) {
  const each = new Int32Array(count);
  for (let stem = 0; stem < count; stem++) each[stem] = stem;
  return {
    at: new Float64Array(count), // middle, from what the stems below it were moved by
    moved: new Float64Array(count), // by how much it and all that grows out of it goes to the right
    shift: new Float64Array(count), // what stems between two that were pushed apart get of that
    change: new Float64Array(count),
    left: each, // the lowest stem of the contour, and what those on the way to it were moved by
    right: each.slice(),
    leftSum: new Float64Array(count),
    rightSum: new Float64Array(count),
    leftThread: new Int32Array(count).fill(-1), // where a contour goes on below a stem that ends
    rightThread: new Int32Array(count).fill(-1),
  };
}

// Pushes each subtree away from those on its left, as far as their contours ask for.
/** @param {Tree} tree @param {Work} work @param {number[]} siblings */
function pushApart(tree, work, siblings) {
  const { bottom } = tree;
  /** @type {number[]} Whose right contour is the outer one, the highest end last. */
  const owners = [0];
  const ends = [bottom[work.right[siblings[0]]]];
  for (let number = 1; number < siblings.length; number++) {
    const end = bottom[work.right[siblings[number]]];
    separate(tree, work, siblings, number, owners, ends);
    while (ends.length && ends[ends.length - 1] <= end) {
      ends.pop();
      owners.pop();
    }
    ends.push(end);
    owners.push(number);
  }
}

/** @param {Tree} tree @param {Work} work @param {number[]} siblings @param {number} number @param {number[]} owners @param {number[]} ends */
function separate({ children, bottom, half }, work, siblings, number, owners, ends) {
  const { at, moved, leftThread, rightThread } = work;
  let beside = siblings[number - 1];
  let here = siblings[number];
  let besideSum = moved[beside];
  let hereSum = moved[here];
  let owner = owners.length - 1;
  while (beside >= 0 && here >= 0) {
    while (bottom[beside] > ends[owner]) owner--;
    const by = besideSum + at[beside] + half[beside] + half[here] - hereSum - at[here];
    if (by > 0) {
      hereSum += by;
      push(work, siblings, owners[owner], number, by);
    }
    const besideEnd = bottom[beside];
    const hereEnd = bottom[here];
    if (besideEnd <= hereEnd) {
      const below = children[beside];
      beside = below.length ? below[below.length - 1] : rightThread[beside];
      if (beside >= 0) besideSum += moved[beside];
    }
    if (besideEnd >= hereEnd) {
      here = children[here].length ? children[here][0] : leftThread[here];
      if (here >= 0) hereSum += moved[here];
    }
  }
  if (here >= 0) sewLeft(work, siblings, number, here, hereSum);
  else if (beside >= 0) sewRight(work, siblings, number, beside, besideSum);
}

/** @param {Work} work @param {number[]} siblings @param {number} from @param {number} number @param {number} by */
function push({ moved, leftSum, rightSum, shift, change }, siblings, from, number, by) {
  const stem = siblings[number];
  moved[stem] += by;
  leftSum[stem] += by;
  rightSum[stem] += by;
  const gaps = number - from;
  if (gaps < 2) return;
  shift[siblings[from + 1]] += by / gaps;
  shift[stem] -= by / gaps;
  change[stem] -= by - by / gaps;
}

// The left contour of all goes on in the one that is deeper.
/** @param {Work} work @param {number[]} siblings @param {number} number @param {number} onto @param {number} sum */
function sewLeft({ at, moved, left, leftSum, leftThread }, siblings, number, onto, sum) {
  const [first, stem] = [siblings[0], siblings[number]];
  const end = left[first];
  const by = sum - moved[onto] - leftSum[first];
  leftThread[end] = onto;
  moved[end] += by;
  at[end] -= by;
  left[first] = left[stem];
  leftSum[first] = leftSum[stem];
}

/** @param {Work} work @param {number[]} siblings @param {number} number @param {number} onto @param {number} sum */
function sewRight({ at, moved, right, rightSum, rightThread }, siblings, number, onto, sum) {
  const [before, stem] = [siblings[number - 1], siblings[number]];
  const end = right[stem];
  const by = sum - moved[onto] - rightSum[stem];
  rightThread[end] = onto;
  moved[end] += by;
  at[end] -= by;
  right[stem] = right[before];
  rightSum[stem] = rightSum[before];
}

// Stems between two that were pushed apart share the room evenly.
/** @param {Work} work @param {number[]} siblings */
function spread({ moved, shift, change }, siblings) {
  let [each, all] = [0, 0];
  for (const stem of siblings) {
    each += shift[stem];
    all += each + change[stem];
    moved[stem] += all;
  }
}
