// Spending day by day: days without any are days, too; as columns of a chart and as what is said of them.

import { amount } from "./measures.js";

/** @import { Spending } from "./measures.js" */
/** @typedef {{ day: string, value: number, share: number, entry: Spending | null, isUnpriced: boolean }} Column */

const DAY_MS = 86_400_000;
const MOST_DAYS = 60;
const LEAST_DAYS = 7;

/** @param {Spending[]} entries Sorted by day. @param {string} what @param {string} today @param {number} days Of the last so many; 0: since the first. @returns {Column[]} */
export function columnsOf(entries, what, today, days) {
  if (!entries.length) return [];
  const last = [today, entries[entries.length - 1].name].sort()[1];
  const since = Math.min(days || MOST_DAYS, MOST_DAYS);
  const earliest = [entries[0].name, dayBefore(last, LEAST_DAYS - 1)].sort()[0];
  const first = days ? dayBefore(last, since - 1) : [earliest, dayBefore(last, since - 1)].sort()[1];
  const known = new Map(entries.map((entry) => [entry.name, entry]));
  const largest = Math.max(...entries.filter(({ name }) => name >= first).map((entry) => amount(entry, what)), 0);
  /** @type {Column[]} */
  const columns = [];
  for (let day = first; day <= last; day = dayBefore(day, -1)) {
    const entry = known.get(day) ?? null;
    const value = entry ? amount(entry, what) : 0;
    const isUnpriced = what === "cost" && !value && Boolean(entry?.unpriced_tokens);
    columns.push({ day, value, share: largest ? value / largest : 0, entry, isUnpriced });
  }
  return columns;
}

/** @param {string} day @param {number} count */
function dayBefore(day, count) {
  return new Date(Date.parse(`${day}T00:00:00Z`) - count * DAY_MS).toISOString().slice(0, 10);
}

// Days that are named below the chart: the first, the last, and some between.
/** @param {Column[]} columns @param {number} most @returns {number[]} Their places. */
export function namedDays(columns, most) {
  const step = Math.max(1, Math.ceil(columns.length / most));
  return columns.map((_, place) => place).filter((place) => (columns.length - 1 - place) % step === 0);
}
