// When something was: the time for today, the day before that.

/** @param {string} timestamp @param {string} lang @param {number} now */
export function timeOf(timestamp, lang, now = Date.now()) {
  const at = new Date(timestamp);
  if (new Date(now).toDateString() === at.toDateString())
    return at.toLocaleTimeString(lang, { hour: "2-digit", minute: "2-digit" });
  const sameYear = new Date(now).getFullYear() === at.getFullYear();
  return at.toLocaleDateString(lang, { month: "short", day: "numeric", ...(sameYear ? {} : { year: "numeric" }) });
}

/** @param {string} timestamp @param {string} lang */
export function timeOfDay(timestamp, lang) {
  return new Date(timestamp).toLocaleTimeString(lang, { hour: "numeric", minute: "2-digit" });
}

/** @param {string} timestamp @param {string} lang */
export function wholeTimeOf(timestamp, lang) {
  return new Date(timestamp).toLocaleString(lang);
}
