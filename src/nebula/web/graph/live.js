// Turns that are no nodes yet, or never became one: at work, waiting for an answer to a question, failed. Each stands where
// its node will stand.

import { concerns } from "../state/events.js";
import { turnsOfFlow } from "../state/here.js";
import { told } from "../lib/deeds.js";
import { hasFailed, isOver } from "../state/turn.js";
import { shownFor, slotFor } from "./layout/placing.js";

/** @import { Deed } from "../lib/deeds.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { State } from "../state/state.js" */
/** @import { Topology } from "../state/topology.js" */
/** @import { Turn } from "../state/turn.js" */
/** @import { Layout } from "./layout/layout.js" */
/** @typedef {"working" | "asking" | "failed"} LiveKind */
/**
 * @typedef {object} Live
 * @property {string} id Of the turn, and of its node when there is one.
 * @property {LiveKind} kind
 * @property {string} prompt
 * @property {string} doing
 * @property {Deed} [deed] Of a try: what its tools do.
 * @property {string[]} parents
 * @property {number} [number] Of a try in a race.
 */
/** @typedef {Live & { x: number, row: number, above: number }} Placed */

/** @param {State} state @returns {Live[]} */
export function liveTurns(state) {
  const turns = [...turnsOfFlow(state).values()];
  const shown = turns.flatMap((turn) => {
    const kind = kindOf(turn, turns, state);
    return kind ? [{ id: turn.traceId, kind, prompt: turn.prompt, doing: turn.doing, parents: turn.parents }] : [];
  });
  return [...shown, ...triesAtWork(state)];
}

// The tries of a race stand side by side below what all of them continue.
/** @param {State} state @returns {Live[]} */
function triesAtWork(state) {
  const { race } = state;
  if (!race || race.isOver || !concerns(state, { flow_id: race.flowId })) return [];
  const { prompt, parents } = race;
  const working = race.tries.filter((each) => !each.status && !state.briefs.has(each.traceId));
  return working.map(({ traceId: id, did, number }) => ({
    id,
    kind: "working",
    prompt,
    doing: "",
    deed: did.at(-1),
    parents,
    number,
  }));
}

// A failure is shown until the same is tried again.
/** @param {Turn} turn @param {Turn[]} turns @param {State} state @returns {LiveKind | null} */
function kindOf(turn, turns, state) {
  if (!isOver(turn)) return turn.ask ? "asking" : "working";
  if (turn.nodeId || !hasFailed(turn) || state.briefs.has(turn.traceId)) return null;
  const from = turn.parents.join();
  const later = turns.slice(turns.indexOf(turn) + 1).some((other) => other.parents.join() === from);
  return later ? null : "failed";
}

/** @param {Live} live @param {Say} say */
export function titleOf({ prompt, number }, say) {
  return number ? `${say("race_try")} ${number} · ${prompt}` : prompt;
}

// What it does now, or what it waits for.
/** @param {Live} live @param {Say} say */
export function stateOf({ kind, doing, deed }, say) {
  if (kind !== "working") return say(`live_${kind}`);
  return deed ? told(deed, say) : doing || say("working");
}

/** @param {Live[]} live @param {Layout} layout @param {Topology} topology @returns {Placed[]} */
export function placeLive(live, layout, topology) {
  /** @type {Placed[]} */
  const placed = [];
  for (const turn of live) {
    if (topology.index.has(turn.id)) continue;
    const parents = turn.parents.flatMap((id) => topology.index.get(id) ?? []).map((place) => shownFor(layout, place));
    const above = parents[0] ?? -1;
    const same = parents.filter((place) => layout.region[place] === layout.region[above]);
    const row = same.reduce((most, place) => Math.max(most, layout.row[place] + 1), 0);
    placed.push({ ...turn, above, ...slotFor(layout, above, row, placed) });
  }
  return placed;
}
