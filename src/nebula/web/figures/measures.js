// Figures as they are read: measures with their unit, spending as shares of the largest.

/** @typedef {{ name: string, tasks: number, input_tokens: number, output_tokens: number, cost: number, unpriced_tokens: number }} Spending */

const MOST_NAMES = 8;
const percent = (/** @type {number} */ value) => `${Math.round(value * 100)}%`;
const rounded = (/** @type {number} */ value) => String(Math.round(value * 10) / 10);

/** @import { Say } from "../lib/words.js" */
/** @type {Record<string, (value: number, say: Say) => string>} */
const UNITS = {
  task_success_rate: percent,
  p95_latency_s: (value, say) => say("seconds", { seconds: rounded(value) }),
  policy_refusals: (value) => String(value),
  plan_reproducibility: percent,
  partial_failure_rate: percent,
  evidence_match_at_k: percent,
  rename_accuracy: percent,
  repair_success_rate: percent,
  mean_repair_steps: rounded,
};
const MEASURES = Object.keys(UNITS);

// Null where nothing was measured.
/** @param {any} found @param {Say} say */
export function measures(found, say) {
  return MEASURES.map((name) => ({
    name,
    shown: found[name] === null || found[name] === undefined ? null : UNITS[name](found[name], say),
    of: found.counted?.[name]?.of ?? 0,
  }));
}

/** @param {Spending} entry @param {string} what */
export function amount(entry, what) {
  if (what === "tasks") return entry.tasks;
  return what === "cost" ? entry.cost : entry.input_tokens + entry.output_tokens;
}

/** @param {number} value @param {string} what */
export function shownAmount(value, what) {
  return what === "cost" ? dollars(value) : short(value);
}

// The largest first.
/** @param {Spending[]} entries @param {string} what */
export function sharesOf(entries, what) {
  const sorted = [...entries].sort((one, other) => amount(other, what) - amount(one, what)).slice(0, MOST_NAMES);
  const largest = Math.max(...sorted.map((entry) => amount(entry, what)), 0);
  return sorted.map((entry) => ({
    entry,
    label: lastPart(entry.name),
    share: largest ? amount(entry, what) / largest : 0,
  }));
}

/** @param {string} name */
function lastPart(name) {
  return name.startsWith("/") ? (name.split("/").findLast(Boolean) ?? name) : name;
}

/** @param {number} cost */
export function dollars(cost) {
  if (cost === 0) return "$0";
  return cost < 0.01 ? `$${cost.toPrecision(2)}` : `$${cost.toFixed(2)}`;
}

// In passing: a cent less or more matters to nobody there.
/** @param {number} cost */
export function roughly(cost) {
  return cost > 0 && cost < 0.01 ? "<$0.01" : dollars(cost);
}

/** @param {number} count */
export function short(count) {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${rounded(count / 1000)}k` : `${rounded(count / 1_000_000)}M`;
}
