// The turns that this page knows of: several branches may be at work at once.

import { begin, isOver, LOST, lost, perform } from "./turn.js";

/** @import { Turn, TurnEvent, Waiting } from "./turn.js" */
/** @typedef {ReadonlyMap<string, Turn>} Turns By trace id, oldest first. */
/** @typedef {{ trace_id: string, flow_id?: string, prompt?: string, parents?: string[], approval?: TurnEvent | null, waiting?: Waiting[] }} UnderWay */

const MOST_KEPT = 20;

/** @type {Turns} */
export const NO_TURNS = new Map();

/**
 * @param {Turns} turns
 * @param {TurnEvent} data
 * @param {number} now
 */
export function withEvent(turns, data, now) {
  const known = turns.get(data.trace_id);
  if (!known && data.type === "final" && !data.prompt) return turns; // the end of one whose beginning nobody heard
  const turn = perform(known ?? begin(data, now), data, now);
  return turn === known ? turns : withTurn(turns, turn);
}

/**
 * What the server says is under way when the line stands again. Those that this page missed are begun, with the
 * question that waits in them. Others have ended: what the page missed is replayed (`resumed`), or no event will say so.
 * @param {Turns} turns
 * @param {UnderWay[]} underWay
 * @param {boolean} resumed
 * @param {number} now
 */
export function reconciled(turns, underWay, resumed, now) {
  const alive = new Set(underWay.map((each) => each.trace_id));
  let next = turns;
  for (const turn of turns.values())
    if (!resumed && !isOver(turn) && !alive.has(turn.traceId)) next = withTurn(next, lost(turn));
  for (const each of underWay) {
    if (!next.has(each.trace_id)) next = withTurn(next, begin(each, now));
    else next = withWaiting(next, each.trace_id, each.waiting ?? []);
    const turn = next.get(each.trace_id);
    const ask = each.approval?.stage?.find((cue) => cue.cue === "ask");
    // The events before the question may be replayed still, so it does not count as heard.
    if (turn && ask) next = withTurn(next, { ...turn, ask, curtain: false });
  }
  return next;
}

/**
 * The turn that belongs to a place: the newest that continues these nodes, or that became the chosen node.
 * @param {Turns} turns
 * @param {string[]} from
 * @param {string | null} selected
 * @returns {Turn | null}
 */
export function turnAt(turns, from, selected) {
  const wanted = [...from].sort().join();
  const found = [...turns.values()].reverse();
  const here = (/** @type {Turn} */ turn) =>
    (selected !== null && turn.nodeId === selected) || [...turn.parents].sort().join() === wanted;
  return found.find((turn) => !isOver(turn) && here(turn)) ?? found.find(here) ?? null;
}

/**
 * A turn at work that waits for an answer, wherever it is: the oldest question first.
 * @param {Turns} turns
 */
export function waiting(turns) {
  return [...turns.values()].find((turn) => turn.ask !== null && !isOver(turn)) ?? null;
}

/**
 * Lost turns after a look at the flow: one that became a node all the same (its id is the turn's) ended well.
 * @param {Turns} turns
 * @param {(id: string) => boolean} isHere
 */
export function foundAgain(turns, isHere) {
  let next = turns;
  for (const turn of turns.values()) {
    if (turn.status === LOST && !turn.nodeId && isHere(turn.traceId))
      next = withTurn(next, { ...turn, nodeId: turn.traceId });
  }
  return next;
}

/** @param {Turns} turns @param {string} traceId @param {Waiting[]} unheard */
export function withWaiting(turns, traceId, unheard) {
  const turn = turns.get(traceId);
  return turn && !isOver(turn) ? withTurn(turns, { ...turn, waiting: unheard }) : turns;
}

/** @param {Turns} turns @param {string} traceId */
export function stopping(turns, traceId) {
  const turn = turns.get(traceId);
  return turn ? withTurn(turns, { ...turn, stopping: true }) : turns;
}

/** @param {Turns} turns @param {Turn} turn */
function withTurn(turns, turn) {
  const next = new Map(turns).set(turn.traceId, turn);
  for (const [traceId, each] of next) {
    if (next.size <= MOST_KEPT) break;
    if (isOver(each)) next.delete(traceId);
  }
  return next;
}
