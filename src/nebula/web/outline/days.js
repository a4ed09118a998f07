// Which day conversations began, as lines between them.

/** @import { Row } from "../state/topology.js" */

// The newest conversation on top, as in any list of them; the turns of one, and tries made side by side, stay in order.
/** @param {Row[]} rows @returns {Row[]} */
export function newestFirst(rows) {
  /** @type {Row[]} */
  const shown = [];
  for (let place = rows.length - 1, end = rows.length; place >= 0; place--) {
    if (rows[place].kind !== "start" && place) continue;
    if (!place && end === rows.length) return rows; // there is but one
    for (let at = place; at < end; at++) shown.push(rows[at]);
    end = place;
  }
  return shown;
}

// Where all of them are of one day there is nothing to tell apart.
/** @param {Row[]} rows @param {Readonly<Record<string, string>>} begun When, by the first turn. @returns {Row[]} */
export function withDays(rows, begun) {
  /** @type {{ place: number, day: string }[]} */
  const days = [];
  for (let place = 0; place < rows.length; place++) {
    const { kind, id } = rows[place];
    if (kind !== "start" || !begun[id]) continue;
    const day = new Date(begun[id]).toDateString();
    if (day !== days.at(-1)?.day) days.push({ place, day });
  }
  if (days.length < 2) return rows;
  const shown = rows.slice(0, days[0].place);
  days.forEach(({ place, day }, number) => {
    shown.push({ ...HEAD, id: `day ${number} ${day}`, day });
    for (let at = place; at < (days[number + 1]?.place ?? rows.length); at++) shown.push(rows[at]);
  });
  return shown;
}

/** @type {Row} */
const HEAD = { id: "", level: 1, kind: "turn", from: null, merges: [], branches: 0, holds: false, folded: false };

// Today and yesterday by their names, others by their date.
/** @param {string} day @param {string} lang @param {number} now */
export function nameOfDay(day, lang, now = Date.now()) {
  const at = new Date(day);
  const ago = Math.round((new Date(new Date(now).toDateString()).getTime() - at.getTime()) / 86_400_000);
  if (ago === 0 || ago === 1) return new Intl.RelativeTimeFormat(lang, { numeric: "auto" }).format(-ago, "day");
  const year = new Date(now).getFullYear() === at.getFullYear() ? {} : { year: /** @type {const} */ ("numeric") };
  return at.toLocaleDateString(lang, { weekday: "short", month: "short", day: "numeric", ...year });
}
