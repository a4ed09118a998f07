// A race as the page follows it: one line for each try while they work, and what became of them at the end.

import { deedOf } from "../lib/deeds.js";

/** @import { Deed } from "../lib/deeds.js" */
/**
 * @typedef {object} Try
 * @property {number} number
 * @property {string} traceId
 * @property {string} model
 * @property {Deed[]} did What its tools did, oldest first; the last of these is at work.
 * @property {string} said Its last words.
 * @property {number} rounds
 * @property {number} tokens
 * @property {string} status Empty while it is under way.
 * @property {boolean} stopping
 * @property {string | null} nodeId
 * @property {boolean | null} verified
 * @property {{ path: string, added: number, removed: number }[]} files
 * @property {number | null} cost
 * @property {number | null} seconds
 */
/**
 * @typedef {object} Race
 * @property {string} traceId
 * @property {string} prompt
 * @property {string[]} parents What all tries continue.
 * @property {string} flowId
 * @property {Try[]} tries
 * @property {boolean} isOver
 * @property {string} opinion What the judge thinks.
 * @property {string[]} remarks
 */

const MOST_STEPS = 30;

/** @typedef {{ trace_id: string, trace_ids: string[], models: string[], prompt: string, parents?: string[], flow_id?: string }} Begun */

/** @param {Begun} begun @returns {Race} */
export function beginRace(begun) {
  const { trace_id: traceId, trace_ids: traceIds, models, prompt, parents = [], flow_id: flowId = "" } = begun;
  const tries = traceIds.map((each, place) => ({
    number: place + 1,
    traceId: each,
    model: models[place] ?? "",
    did: [],
    said: "",
    rounds: 0,
    tokens: 0,
    status: "",
    stopping: false,
    nodeId: null,
    verified: null,
    files: [],
    cost: null,
    seconds: null,
  }));
  return { traceId, prompt, parents, flowId, tries, isOver: false, opinion: "", remarks: [] };
}

/**
 * The race after one more event, of a try or of its own; what is not about it changes nothing.
 * @param {Race} race
 * @param {any} data
 */
export function followRace(race, data) {
  if (data.trace_id === race.traceId) return endOrRemark(race, data);
  const place = race.tries.findIndex((each) => each.traceId === data.trace_id);
  if (place < 0) return race;
  const next = followTry(race.tries[place], data);
  return next === race.tries[place] ? race : { ...race, tries: race.tries.with(place, next) };
}

/** @param {Race} race @param {any} data @returns {Race} */
function endOrRemark(race, data) {
  if (data.type === "notice") return { ...race, remarks: [...race.remarks, data.message ?? ""] };
  if (data.type !== "final") return race;
  const told = new Map(data.tries.map((/** @type {any} */ each) => [each.try, each]));
  const tries = race.tries.map((each) => ({
    ...(told.has(each.number) ? ended(each, told.get(each.number)) : each),
    status: told.get(each.number)?.status ?? (each.status || "error"),
  }));
  return { ...race, tries, isOver: true, opinion: data.opinion ?? "" };
}

/** @param {Try} each @param {any} data @returns {Try} */
function followTry(each, data) {
  switch (data.type) {
    case "task":
      return { ...each, model: data.model || each.model };
    case "step":
      return { ...each, did: [...each.did, deedOf(data)].slice(-MOST_STEPS) };
    case "message": {
      const { input_tokens: read = 0, output_tokens: written = 0 } = data.usage ?? {};
      const said = data.text || each.said;
      return { ...each, said, rounds: each.rounds + 1, tokens: each.tokens + read + written };
    }
    case "final":
      return { ...ended(each, data), status: data.status };
    default:
      return each;
  }
}

/** @param {Try} each @param {any} data @returns {Try} */
function ended(each, data) {
  return {
    ...each,
    model: data.model || each.model,
    said: data.text || each.said,
    nodeId: data.node_id ?? null,
    verified: data.verified ?? null,
    files: data.files_changed ?? [],
    cost: data.cost ?? null,
    seconds: data.duration_s ?? null,
    rounds: data.rounds ?? each.rounds,
  };
}

/** @param {Race} race @param {string} traceId The try's, or the race's for all of them. @returns {Race} */
export function stoppingTries(race, traceId) {
  const meant = (/** @type {Try} */ each) => traceId === race.traceId || each.traceId === traceId;
  return { ...race, tries: race.tries.map((each) => (meant(each) ? { ...each, stopping: true } : each)) };
}

// Of a race that this page did not begin, or whose end it missed, the server tells when the line stands.
/** @param {Race | null} race @param {Begun[]} underWay @param {boolean} resumed @returns {Race | null} */
export function raceFound(race, underWay, resumed) {
  if (race && (race.isOver || resumed || underWay.some((each) => each.trace_id === race.traceId))) return race;
  return underWay.length ? beginRace(underWay[0]) : null;
}
