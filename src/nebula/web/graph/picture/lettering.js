// Text on a canvas: cut to the room there is, or wrapped into lines.

const WORD = /^[^\s\u2e80-\uffef]{2}$/u; // Japanese and its like may be parted anywhere

/** @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room @param {number} most */
export function wrapped(pen, text, room, most) {
  /** @type {string[]} */
  const lines = [];
  let rest = text.slice(0, 600).replace(/\s+/g, " ");
  while (rest && lines.length < most) {
    if (lines.length === most - 1) return [...lines, cut(pen, rest, room)];
    const length = fitting(pen, rest, room);
    if (!length) return lines;
    const space = rest.lastIndexOf(" ", length);
    const end = space > 0 && WORD.test(rest.slice(length - 1, length + 1)) ? space : length;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return lines;
}

/** @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room */
export function cut(pen, text, room) {
  if (room < 16) return "";
  if (fitting(pen, text, room) === text.length) return text;
  return `${text.slice(0, fitting(pen, text, room - pen.measureText("…").width)).trimEnd()}…`;
}

/** @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room */
function fitting(pen, text, room) {
  let [low, high] = [0, Math.min(text.length, Math.ceil(room / 2))];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (pen.measureText(text.slice(0, middle)).width <= room) low = middle;
    else high = middle - 1;
  }
  return low;
}
