// What of a large plane is in sight: plain mathematics, in pixels of the screen and units of the plane.

/** @typedef {{ x: number, y: number, scale: number }} Viewport The point of the plane in the upper left corner. */
/** @typedef {{ x: number, y: number }} Point */
/** @typedef {{ width: number, height: number }} Size */
/** @typedef {{ left: number, top: number, right: number, bottom: number }} Box */

export const SMALLEST = 1e-5;
export const LARGEST = 1.75;

/** @param {Viewport} view @param {Point} point @returns {Point} */
export function toScreen(view, point) {
  return { x: (point.x - view.x) * view.scale, y: (point.y - view.y) * view.scale };
}

/** @param {Viewport} view @param {Point} point @returns {Point} */
export function toPlane(view, point) {
  return { x: point.x / view.scale + view.x, y: point.y / view.scale + view.y };
}

/** @param {Viewport} view @param {Size} size @returns {Box} */
export function inSight(view, size) {
  const end = toPlane(view, { x: size.width, y: size.height });
  return { left: view.x, top: view.y, right: end.x, bottom: end.y };
}

// Moved by pixels of the screen.
/** @param {Viewport} view @param {number} byX @param {number} byY @returns {Viewport} */
export function panned(view, byX, byY) {
  return { ...view, x: view.x + byX / view.scale, y: view.y + byY / view.scale };
}

// The point of the screen keeps what is under it. What is smaller than `least` already gets no smaller.
/** @param {Viewport} view @param {number} factor @param {Point} at @param {number} least @returns {Viewport} */
export function zoomed(view, factor, at, least = SMALLEST) {
  const scale = Math.min(LARGEST, Math.max(Math.min(least, view.scale), view.scale * factor));
  const under = toPlane(view, at);
  return { x: under.x - at.x / scale, y: under.y - at.y / scale, scale };
}

/** @param {Viewport} view @param {Size} size @param {Point} point @returns {Viewport} */
export function centred(view, size, point) {
  return { ...view, x: point.x - size.width / view.scale / 2, y: point.y - size.height / view.scale / 2 };
}

// All of a box, as large as it fits but never larger than life; so many pixels stay free above and below it.
/** @param {Box} box @param {Size} size @param {number} largest @param {number} above @param {number} below @returns {Viewport} */
export function fitted(box, size, largest = 1, above = 0, below = 0) {
  const width = Math.max(1, box.right - box.left);
  const height = Math.max(1, box.bottom - box.top);
  const room = { width: size.width, height: Math.max(1, size.height - above - below) };
  const scale = Math.min(largest, Math.max(SMALLEST, Math.min(room.width / width, room.height / height)));
  const middle = { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 };
  return panned(centred({ x: 0, y: 0, scale }, room, middle), 0, -above);
}

// As little blank space as can be: it ends where the box ends, and what is smaller than the view is in its middle.
/** @param {Viewport} view @param {Size} size @param {Box} box @returns {Viewport} */
export function filled({ x, y, scale }, size, box) {
  const along = (
    /** @type {number} */ at,
    /** @type {number} */ room,
    /** @type {number} */ from,
    /** @type {number} */ to,
  ) => (to - from <= room ? (from + to - room) / 2 : Math.min(to - room, Math.max(from, at)));
  return {
    x: along(x, size.width / scale, box.left, box.right),
    y: along(y, size.height / scale, box.top, box.bottom),
    scale,
  };
}

// Something of the box always stays in sight: nobody gets lost in blank space.
/** @param {Viewport} view @param {Size} size @param {Box} box @param {number} least Pixels. @returns {Viewport} */
export function kept(view, size, box, least = 60) {
  const room = least / view.scale;
  const x = Math.min(box.right - room, Math.max(box.left + room - size.width / view.scale, view.x));
  const y = Math.min(box.bottom - room, Math.max(box.top + room - size.height / view.scale, view.y));
  return x === view.x && y === view.y ? view : { ...view, x, y };
}

/** @param {Viewport} view @param {Size} size @param {Box} box */
export function holds(view, size, box) {
  const sight = inSight(view, size);
  return box.left >= sight.left && box.right <= sight.right && box.top >= sight.top && box.bottom <= sight.bottom;
}
