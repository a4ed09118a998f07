// When something was: the time for today, the day before that.

/** @type {Record<string, Intl.DateTimeFormatOptions>} */
const FORMS = { day: { month: "short", day: "numeric" }, date: { month: "short", day: "numeric", year: "numeric" } };
/** @type {Map<string, Intl.DateTimeFormat>} To make one takes far longer than to use it, and every row of a list does. */
const calendars = new Map();

/** @param {string} timestamp @param {string} lang @param {number} now */
export function timeOf(timestamp, lang, now = Date.now()) {
  const [at, today] = [new Date(timestamp), new Date(now)];
  if (today.toDateString() === at.toDateString()) return clock(at, lang);
  return written(at, lang, today.getFullYear() === at.getFullYear() ? "day" : "date");
}

/** @param {string} timestamp @param {string} lang */
export function timeOfDay(timestamp, lang) {
  return clock(new Date(timestamp), lang);
}

// By hand, as the browser would: the first titles have such a time, and the browser's first takes 10 ms.
/** @param {Date} at @param {string} lang */
function clock(at, lang) {
  if (Number.isNaN(at.getTime())) return "";
  const hour = at.getHours();
  const minute = String(at.getMinutes()).padStart(2, "0");
  return lang === "ja" ? `${hour}:${minute}` : `${hour % 12 || 12}:${minute} ${hour < 12 ? "AM" : "PM"}`;
}

/** @param {Date} at @param {string} lang @param {string} form */
function written(at, lang, form) {
  const calendar = calendars.get(lang + form) ?? new Intl.DateTimeFormat(lang, FORMS[form]);
  calendars.set(lang + form, calendar);
  return Number.isNaN(at.getTime()) ? "" : calendar.format(at);
}

/** @param {string} timestamp @param {string} lang */
export function wholeTimeOf(timestamp, lang) {
  return new Date(timestamp).toLocaleString(lang);
}
