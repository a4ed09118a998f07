// When something was: the time for today, the day before that.

/** @param {string} timestamp @param {string} lang @param {number} now */
export function timeOf(timestamp, lang, now = Date.now()) {
  const at = new Date(timestamp);
  if (new Date(now).toDateString() === at.toDateString())
    return at.toLocaleTimeString(lang, { hour: "numeric", minute: "2-digit" });
  const sameYear = new Date(now).getFullYear() === at.getFullYear();
  return at.toLocaleDateString(lang, { month: "short", day: "numeric", ...(sameYear ? {} : { year: "numeric" }) });
}

/** @type {Map<string, Intl.DateTimeFormat>} To make one takes far longer than to use it, and every row of a list does. */
const clocks = new Map();

/** @param {string} timestamp @param {string} lang */
export function timeOfDay(timestamp, lang) {
  const clock = clocks.get(lang) ?? new Intl.DateTimeFormat(lang, { hour: "numeric", minute: "2-digit" });
  clocks.set(lang, clock);
  const at = new Date(timestamp);
  return Number.isNaN(at.getTime()) ? "" : clock.format(at);
}

/** @param {string} timestamp @param {string} lang */
export function wholeTimeOf(timestamp, lang) {
  return new Date(timestamp).toLocaleString(lang);
}
