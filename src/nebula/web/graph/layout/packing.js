// Puts rectangles beside and below each other, those that come first further up, so that all of them have about a given
// shape.

/** @typedef {{ width: number, rows: number }} Extent */
/** @typedef {{ left: number, row: number }} Corner */

const STEP = 68; // fine enough for the eye, coarse enough to be quick
const WASTE = 1.15;

/**
 * Return the upper left corner of each. What is below the first stays free: it is the one that grows.
 * @param {Extent[]} extents In the order in which they are to be seen.
 * @param {number} rowHeight
 * @param {number} shape Width by height of the room that there is.
 * @returns {Corner[]}
 */
export function packed(extents, rowHeight, shape) {
  if (!extents.length) return [];
  const [first, ...others] = extents;
  const area = (/** @type {Extent[]} */ some) =>
    some.reduce((sum, each) => sum + each.width * each.rows * rowHeight, 0);
  const tall = Math.max(first.rows * rowHeight, Math.sqrt((area(extents) * WASTE) / shape));
  const widest = others.reduce((most, each) => Math.max(most, each.width), 1);
  const columns = steps(Math.max(widest, (area(others) * WASTE) / tall));
  const filled = new Int32Array(columns); // rows that are taken, by column
  const rest = others.map((each) => {
    const place = shallowest(filled, steps(each.width));
    for (let column = place.column; column < place.column + steps(each.width); column++)
      filled[column] = place.row + each.rows;
    return { left: steps(first.width) * STEP + place.column * STEP, row: place.row };
  });
  return [{ left: 0, row: 0 }, ...rest];
}

const steps = (/** @type {number} */ width) => Math.max(1, Math.ceil(width / STEP));

// The highest place for so many columns, the leftmost of several.
/** @param {Int32Array} filled @param {number} columns */
function shallowest(filled, columns) {
  let best = { column: 0, row: Infinity };
  for (let column = 0; column + columns <= filled.length; column++) {
    let row = 0;
    for (let each = column; each < column + columns && row < best.row; each++) row = Math.max(row, filled[each]);
    if (row < best.row) best = { column, row };
    if (best.row === 0) break;
  }
  return best;
}
