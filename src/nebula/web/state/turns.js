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
 * The newest turn at work that continues just these nodes. Any number may; and nothing is no place to come back to.
 * @param {Turns} turns
 * @param {string[]} from
 * @returns {Turn | null}
 */
export function atWork(turns, from) {
  const wanted = [...from].sort().join();
  const fits = (/** @type {Turn} */ turn) => !isOver(turn) && [...turn.parents].sort().join() === wanted;
  return from.length ? ([...turns.values()].findLast(fits) ?? null) : null;
}

/**
 * A turn at work, wherever it is: the oldest question first, else the newest.
 * @param {Turns} turns
 */
export function waiting(turns) {
  const all = [...turns.values()].filter((turn) => !isOver(turn));
  return all.find((turn) => turn.ask !== null) ?? all.at(-1) ?? null;
}

/**
 * With a turn that this page asked for, should none of its events have been heard yet.
 * @param {Turns} turns
 * @param {UnderWay} data
 * @param {number} now
 */
export function begun(turns, data, now) {
  return turns.has(data.trace_id) ? turns : withTurn(turns, begin(data, now));
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
