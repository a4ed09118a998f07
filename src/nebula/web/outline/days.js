// The order of conversations in the outline, and which day they began, as lines between them.

import { single } from "./lines.js";

/** @import { Piece } from "./lines.js" */

// The newest conversation on top, as in any list of them; the lines of one, and tries made side by side, stay in order.
/** @param {Piece[]} lines @returns {Piece[]} */
export function newestFirst(lines) {
  /** @type {Piece[]} */
  const shown = [];
  for (let place = lines.length - 1, end = lines.length; place >= 0; place--) {
    if (lines[place].begins === undefined && place) continue;
    for (let at = place; at < end; at++) shown.push(lines[at]);
    end = place;
  }
  return shown;
}

// Where all of them are of one day there is nothing to tell apart.
/** @param {Piece[]} lines @param {Readonly<Record<string, string>>} begun When, by the first turn. @returns {Piece[]} */
export function withDays(lines, begun) {
  let count = 0;
  let known = "";
  const shown = lines.flatMap((line) => {
    const began = begun[line.begins ?? ""];
    const day = began ? new Date(began).toDateString() : known;
    if (day === known) return [line];
    known = day;
    return [single({ id: `day ${count++} ${day}`, day }), line];
  });
  return count < 2 ? lines : shown;
}

// Today and yesterday by their names, others by their date.
/** @param {string} day @param {string} lang @param {number} now */
export function nameOfDay(day, lang, now = Date.now()) {
  const at = new Date(day);
  const ago = Math.round((new Date(new Date(now).toDateString()).getTime() - at.getTime()) / 86_400_000);
  if (ago === 0 || ago === 1) return new Intl.RelativeTimeFormat(lang, { numeric: "auto" }).format(-ago, "day");
  const year = new Date(now).getFullYear() === at.getFullYear() ? {} : { year: /** @type {const} */ ("numeric") };
  return at.toLocaleDateString(lang, { weekday: "short", month: "short", day: "numeric", ...year });
}
