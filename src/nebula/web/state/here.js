// Where the reader is: what a prompt would continue, and which turn they have before them.

import { concerns } from "./events.js";
import { isOver } from "./turn.js";
import { waiting } from "./turns.js";

/** @import { State } from "./state.js" */
/** @import { Turn } from "./turn.js" */
/** @import { Turns } from "./turns.js" */

/**
 * What a new prompt would continue.
 * @param {State} state
 */
export function continuing(state) {
  const from = [state.selected, ...state.merging].filter((id) => id !== null);
  return [...new Set(from)];
}

/**
 * The turn that goes on, or has just ended, before the reader.
 * @param {State} state
 * @returns {Turn | null}
 */
export function turnHere(state) {
  return state.turn === null ? null : (state.turns.get(state.turn) ?? null);
}

/**
 * Whether turns of this server may write, and ask before.
 * @param {State} state
 */
export const writes = ({ modes }) => modes.includes("agent");

/** @param {State} state @returns {Turns} */
export function turnsOfFlow(state) {
  return new Map([...state.turns].filter(([, turn]) => concerns(state, { flow_id: turn.flowId })));
}

/**
 * Whether the turn before the reader is at work.
 * @param {State} state
 */
export function isBusy(state) {
  const turn = turnHere(state);
  return turn !== null && !isOver(turn);
}

/**
 * Whether a prompt can be sent: not before it is known what it continues, or it would begin a conversation of its own.
 * @param {State} state
 */
export function canSend(state) {
  return state.status === "open" && state.placed && !isBusy(state) && state.sending === null;
}

/**
 * The turn here that hears what is said now; plain chat has no further round to hear it in.
 * @param {State} state
 */
export function steerable(state) {
  const turn = turnHere(state);
  return turn && !isOver(turn) && !state.modes.includes("chat") ? turn : null;
}

/**
 * What the strip shows: the turn at work here, else one elsewhere: first one that has a question.
 * @param {State} state
 */
export function turnInSight(state) {
  const here = turnHere(state);
  return here !== null && !isOver(here) ? here : waiting(turnsOfFlow(state));
}
