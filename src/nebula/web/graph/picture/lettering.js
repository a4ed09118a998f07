// Text on a canvas: cut to the room there is, or wrapped into lines.

const WORD = /^[^\s\u2e80-\uffef]{2}$/u; // Japanese and its like may be parted anywhere
// but reads best where a phrase ends: after its kana or a sign, before the next word.
const PHRASE =
  /[\p{Script=Hiragana}\u3001\u3002\uff01\uff1f\u300d\uff09](?=[^\p{Script=Hiragana}ー\s\u3001\u3002\uff01\uff1f\u300d\uff09])/gu;
const KATAKANA = /^[\p{Script=Katakana}ー]$/u;
const NAME = /[\p{Script=Katakana}ー]+$/u; // such a word is not parted either
const NO_BEGINNING = /^[、。，．！？」』）】ーぁぃぅぇぉっゃゅょァィゥェォッャュョ]$/u; // of a line
const [LEAST_FILLED, WELL_FILLED] = [0.55, 0.75]; // of a line
const SIGN = /[、。！？」）]/u; // a phrase ends there for sure: 割り may be half a word

/** @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room @param {number} most */
export function wrapped(pen, text, room, most) {
  /** @type {string[]} */
  const lines = [];
  let rest = text.slice(0, 600).replace(/\s+/g, " ");
  while (rest && lines.length < most) {
    if (lines.length === most - 1) return [...lines, cut(pen, rest, room)];
    const length = fitting(pen, rest, room);
    if (!length) return lines;
    const end = lineEnd(rest, length);
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return lines;
}

// Where a line ends of which so many signs fit.
/** @param {string} text @param {number} length */
function lineEnd(text, length) {
  if (length === text.length) return length;
  const space = text.lastIndexOf(" ", length);
  if (space > 0 && WORD.test(text.slice(length - 1, length + 1))) return space;
  const phrases = [...text.slice(0, length + 1).matchAll(PHRASE)].map(({ index }) => index + 1);
  const within = phrases.filter((end) => end <= length);
  const sign = within.findLast((end) => SIGN.test(text[end - 1])) ?? 0;
  if (sign >= WELL_FILLED * length) return sign;
  const phrase = within.at(-1) ?? 0;
  if (phrase >= LEAST_FILLED * length) return phrase;
  const name = KATAKANA.test(text[length]) ? text.slice(0, length).search(NAME) : -1;
  if (name >= LEAST_FILLED * length) return name;
  let end = length;
  while (end > 1 && NO_BEGINNING.test(text[end])) end--;
  return end;
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
