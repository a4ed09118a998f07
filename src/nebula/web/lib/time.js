// When something was: the time for today, the day before that.

/** @type {Record<string, Intl.DateTimeFormatOptions>} */
const FORMS = {
  time: { hour: "numeric", minute: "2-digit" },
  day: { month: "short", day: "numeric" },
  date: { month: "short", day: "numeric", year: "numeric" },
};
/** @type {Map<string, Intl.DateTimeFormat>} To make one takes far longer than to use it, and every row of a list does. */
const clocks = new Map();

/** @param {string} timestamp @param {string} lang @param {number} now */
export function timeOf(timestamp, lang, now = Date.now()) {
  const [at, today] = [new Date(timestamp), new Date(now)];
  if (today.toDateString() === at.toDateString()) return written(at, lang, "time");
  return written(at, lang, today.getFullYear() === at.getFullYear() ? "day" : "date");
}

/** @param {string} timestamp @param {string} lang */
export function timeOfDay(timestamp, lang) {
  return written(new Date(timestamp), lang, "time");
}

/** @param {Date} at @param {string} lang @param {string} form */
function written(at, lang, form) {
  const clock = clocks.get(lang + form) ?? new Intl.DateTimeFormat(lang, FORMS[form]);
  clocks.set(lang + form, clock);
  return Number.isNaN(at.getTime()) ? "" : clock.format(at);
}

/** @param {string} timestamp @param {string} lang */
export function wholeTimeOf(timestamp, lang) {
  return new Date(timestamp).toLocaleString(lang);
}
