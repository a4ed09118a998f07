// Puts rectangles beside and below each other, those that come first further up, so that all of them together have about a
// given shape.

/** @typedef {{ width: number, rows: number }} Extent */
/** @typedef {{ left: number, row: number }} Corner */
/** @typedef {{ rowHeight: number, shape: number }} Room `shape`: width by height of the room that there is. */

const STEP = 68; // fine enough for the eye, coarse enough to be quick
const WASTE = 1.15;
const GROWTH = 8; // rows that stay free below the first: it is the one that grows
const FEW = 64; // so many are tried in several widths
const TRIES = 48;
const READABLE = 2000; // as high may it be for its titles to be read in a panel of usual size

/**
 * Return the upper left corner of each.
 * @param {Extent[]} extents In the order in which they are to be seen.
 * @param {Room} room
 * @returns {Corner[]}
 */
export function packed(extents, room) {
  if (extents.length < 2) return extents.map(() => ({ left: 0, row: 0 }));
  const { rowHeight, shape } = room;
  const area = extents.reduce((sum, each) => sum + each.width * each.rows * rowHeight, 0);
  const widest = extents.reduce((most, each) => Math.max(most, steps(each.width)), 1);
  const guess = Math.max(widest, steps(Math.sqrt(area * WASTE * shape)));
  if (extents.length > FEW) return inColumns(extents, guess, GROWTH).corners;
  const widths = { widest, most: 2 * guess };
  const [growing, once, close] = [GROWTH, 1, 0].map((rows) => smallest(extents, room, widths, rows));
  const size = sizeOf(growing, room);
  // Beside one that takes most of the width, what stays free is a hole.
  const isHole = extents.some(({ width }) => width > extents[0].width && 2 * width > growing.width);
  if (size <= READABLE && !isHole) return growing.corners;
  return ([once, close].find((each) => sizeOf(each, room) <= Math.min(READABLE, size)) ?? growing).corners;
}

/** @param {Extent[]} extents @param {Room} room @param {{ widest: number, most: number }} widths @param {number} growth */
function smallest(extents, room, { widest, most }, growth) {
  const more = Math.max(1, Math.ceil((most - widest) / TRIES));
  let best = inColumns(extents, widest, growth);
  for (let columns = widest + more; columns <= most; columns += more) {
    const next = inColumns(extents, columns, growth);
    if (sizeOf(next, room) < sizeOf(best, room)) best = next;
  }
  return best;
}

/** @typedef {{ corners: Corner[], width: number, rows: number }} Packing */

// How high the room would have to be to hold all of it.
/** @param {Packing} packing @param {Room} room */
function sizeOf({ width, rows }, { rowHeight, shape }) {
  return Math.max(width / shape, rows * rowHeight);
}

/** @param {Extent[]} extents @param {number} columns @param {number} growth @returns {Packing} */
function inColumns(extents, columns, growth) {
  const filled = new Int32Array(columns); // rows that are taken, by column
  let [width, rows] = [0, 0];
  const corners = extents.map((each, number) => {
    const needed = steps(each.width);
    const { column, row } = shallowest(filled, needed);
    filled.fill(row + each.rows + (number ? 0 : growth), column, column + needed);
    width = Math.max(width, column * STEP + each.width);
    rows = Math.max(rows, row + each.rows);
    return { left: column * STEP, row };
  });
  return { corners, width, rows };
}

const steps = (/** @type {number} */ width) => Math.max(1, Math.ceil(width / STEP));

// The highest place for so many columns, the leftmost of several.
/** @param {Int32Array} filled @param {number} columns */
function shallowest(filled, columns) {
  let best = { column: 0, row: Infinity };
  for (let column = 0; column + columns <= filled.length; column++) {
    let row = 0;
    let each = column;
    for (; each < column + columns && row < best.row; each++) row = Math.max(row, filled[each]);
    if (row < best.row) best = { column, row };
    else column = each - 1; // whatever holds the column that was too deep is too deep
    if (best.row === 0) break;
  }
  return best;
}
