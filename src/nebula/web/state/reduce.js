// How the state changes: plain values in, a new value out, no page needed.

import { COMPOSING, FRESH } from "../composer/composing.js";
import { OWN } from "../composer/typed.js";
import { ended, heardAll, withEntries, withReturned } from "./events.js";
import { continuing, turnsOfFlow, writes } from "./here.js";
import { beginRace, raceFound, stoppingTries } from "./race.js";
import { EMPTY } from "./state.js";
import { isOver, LOST } from "./turn.js";
import { atWork, begun, foundAgain, reconciled, stopping } from "./turns.js";

/** @import { State } from "./state.js" */

/** @type {Record<string, (state: State, change: any) => State>} */
const CHANGES = {
  events: (state, { events, now }) => heardAll(state, events, now),
  status: (state, { status }) => ({ ...state, status }),
  awaiting: (state, { awaiting }) => ({ ...state, awaiting }),
  notice: (state, { text, offer }) => ({ ...state, notice: text, offer: offer ? { ...offer, text } : state.offer }),
  dismiss: (state) => ({ ...state, notice: state.notice === state.offer?.text ? "" : state.notice, offer: null }),
  hello: (state, { modes, project, turns, races = [], resumed, now }) => ({
    ...state,
    race: raceFound(state.race, races, resumed),
    modes,
    project: project ?? state.project,
    turns: reconciled(state.turns, turns, resumed, now),
  }),
  flows: (state, { flows }) => ({ ...state, flows }),
  flow: (state, { flow, place = null }) => withFlow(state, flow, place),
  placed: (state) => ({ ...state, placed: true }),
  choose_flow: (state, { flowId }) => ({ ...EMPTY, ...kept(state), flowId }),
  briefs: (state, { nodes }) => ({ ...state, briefs: withEntries(state.briefs, nodes.map(withId)) }),
  body: (state, { node }) => ({ ...state, bodies: withEntries(state.bodies, [withId(node)]) }),
  select: (state, { id, tab = state.view.tab }) => selecting(onTab(state, tab), id),
  open: (state, { id, tab }) => opening(onTab(state, tab), id),
  merge: (state, { id }) => ({ ...at(state, state.selected, [...new Set([...state.merging, id])]), joining: true }),
  unmerge: (state, { id }) => at(state, state.selected, without(state.merging, id)),
  toggle: (state, { id }) => toggled(state, id),
  watch: (state, { traceId }) => watching(state, traceId),
  beside: (state) => ({ ...state, turn: null, sending: null }),
  fold: (state, { id, folded }) => ({ ...state, folded: withFold(state.folded, id, folded) }),
  search: (state, { text, filters = {}, hits, total = 0, unread = 0 }) => ({
    ...state,
    search: { text, filters, hits, total, unread },
  }),
  choices: (state, { choices }) => ({ ...state, choices }),
  allowed: (state, { allowed }) => ({ ...state, allowed }),
  commands: (state, { commands }) => ({ ...state, commands: [...commands, ...(writes(state) ? OWN : [])] }),
  models: (state, { models, current = "" }) => ({ ...state, models, current }),
  files: (state, { files }) => ({ ...state, files }),
  alive: (state, { nodeId, files }) => ({ ...state, alive: { nodeId, files } }),
  lines: (state, { lines }) => ({ ...state, lines }),
  found: (state, { found }) => ({ ...state, found }),
  compared: (state, { compared }) => ({ ...state, compared }),
  counted: (state, { counted }) => ({ ...state, counted }),
  outside: (state, { outside }) => ({ ...state, outside }),
  figures: (state, { figures }) => ({ ...state, figures }),
  racing: (state, { racing }) => ({ ...state, racing, tried: state.race ? state.tried : null }),
  tried: (state, { tried }) => ({ ...state, tried }),
  race_begun: (state, { begun: race }) => ({ ...state, race: beginRace(race), tried: null }),
  race_aside: (state) => (state.race?.isOver ? { ...state, race: null } : state),
  race_stopping: (state, { traceId }) => ({ ...state, race: state.race && stoppingTries(state.race, traceId) }),
  sending: (state, { prompt, from }) => ({ ...state, sending: { prompt, parents: from } }),
  unsent: (state, { prompt }) => ({ ...state, sending: null, returned: { traceId: "", prompt } }),
  sent: (state, change) => wasSent(state, change),
  steered: (state, { steeringId }) => ({ ...state, steered: new Set(state.steered).add(steeringId) }),
  edit: (state, { prompt, again = "" }) => ({
    ...state,
    composing: { ...state.composing, again },
    returned: { traceId: "", prompt },
  }),
  taken_back: (state) => ({ ...state, returned: null }),
  stopping: (state, { traceId }) => ({ ...state, turns: stopping(state.turns, traceId) }),
  asking: (state) => ({ ...state, outdated: false }),
  outdated: (state) => ({ ...state, outdated: true }),
  building: (state, { building }) => ({ ...state, building }),
  preview: (state, { preview }) => ({ ...state, preview }),
  view: (state, { to }) => ({ ...state, view: { ...state.view, ...to } }),
};

/**
 * @param {State} state
 * @param {{ kind: string, [detail: string]: any }} change
 * @returns {State}
 */
export function reduce(state, change) {
  const compose = COMPOSING[change.kind];
  return compose ? { ...state, composing: compose(state.composing, change) } : CHANGES[change.kind](state, change);
}

/** @template {{ id: string }} T @param {T} node @returns {[string, T]} */
const withId = (node) => [node.id, node];
const without = (/** @type {string[]} */ list, /** @type {string} */ id) => list.filter((each) => each !== id);

/** @param {State} state @param {string} tab @returns {State} */
function onTab(state, tab) {
  return tab === state.view.tab ? state : { ...state, view: { ...state.view, tab } };
}

// At another place. A turn at work that continues just that is before the reader again; nothing is no such place: a new
// conversation is always new.
/** @param {State} state @param {string | null} selected @param {string[]} merging @returns {State} */
function at(state, selected, merging) {
  const composing = state.composing.again ? { ...state.composing, again: "" } : state.composing;
  const next = { ...state, composing, selected, merging, placed: true, sending: null };
  return { ...next, turn: atWork(turnsOfFlow(state), continuing(next))?.traceId ?? null };
}

/** @param {State} state @param {string | null} id @returns {State} */
function selecting(state, id) {
  if (id === null) return { ...at(state, null, []), joining: false };
  return state.selected === id ? state : at(state, id, state.merging);
}

// A click: this turn alone, unless the reader said that it shall join those chosen.
/** @param {State} state @param {string} id @returns {State} */
function opening(state, id) {
  const next = selecting(state, id);
  if (state.joining) return { ...next, joining: false };
  return next.merging.length ? at(next, id, []) : next;
}

// One more turn beside the chosen one, or one less: what a prompt would then continue together.
/** @param {State} state @param {string} id @returns {State} */
function toggled(state, id) {
  const chosen = continuing(state);
  const next = chosen.includes(id) ? without(chosen, id) : [...chosen, id];
  return { ...at(state, next[0] ?? null, next.slice(1)), joining: false };
}

/** @param {State} state @param {string} traceId @returns {State} */
function watching(state, traceId) {
  if (state.race?.tries.some((each) => each.traceId === traceId))
    return { ...state, view: { ...state.view, dialog: "race" } };
  const turn = state.turns.get(traceId);
  if (!turn) return state;
  const [first = null, ...others] = turn.parents;
  return { ...onTab(at(state, first, others), "talk"), turn: traceId, joining: false };
}

// The server has taken the prompt: its turn is before the reader, unless they went elsewhere meanwhile.
/** @param {State} state @param {any} change @returns {State} */
function wasSent(state, { traceId, composing, prompt, from, flowId, now }) {
  const turns = begun(state.turns, { trace_id: traceId, flow_id: flowId, prompt, parents: from }, now);
  const next = {
    ...state,
    turns,
    turn: state.sending ? traceId : state.turn,
    sending: null,
    placed: true,
    sent: new Set(state.sent).add(traceId),
    composing: composing === state.composing ? { ...FRESH, model: composing.model } : state.composing,
    preview: null,
  };
  const turn = turns.get(traceId);
  return turn && isOver(turn) ? ended(next, turn) : next;
}

// The reader is taken to `place`, or stays. Who has just come sees the conversation that is being begun.
/** @param {State} state @param {State["flow"]} flow @param {string | null} place @returns {State} */
function withFlow(state, flow, place) {
  const isHere = (/** @type {string} */ id) => flow.nodes.includes(id); // asked of few
  const wanted = place ?? state.selected;
  const selected = wanted !== null && isHere(wanted) ? wanted : null;
  const merging = state.merging.filter(isHere);
  /** @type {State} */
  let next = { ...state, flow: { ...flow, base: {} }, turns: foundAgain(state.turns, isHere) };
  if (selected !== state.selected || merging.length !== state.merging.length) next = at(next, selected, merging);
  const found = next.turn === null ? undefined : next.turns.get(next.turn);
  if (found?.nodeId && found !== state.turns.get(found.traceId)) next = ended(next, found);
  if (!state.placed && selected === null) {
    const beginning = [...turnsOfFlow(next).values()].findLast((turn) => !isOver(turn) && !turn.parents.length);
    next = { ...next, turn: beginning?.traceId ?? null };
  }
  const unanswered = [...turnsOfFlow(next).values()].find(
    (turn) => turn.status === LOST && state.sent.has(turn.traceId),
  );
  return withReturned({ ...next, placed: true }, unanswered ?? null);
}

/** @param {State} state */
function kept(state) {
  const { status, awaiting, notice, offer, modes, flows, briefs, bodies, turns, sent, steered, returned, building } =
    state;
  const { composing, project, commands, models, current, choices, race, tried, view } = state;
  const ours = {
    composing,
    project,
    commands,
    models,
    current,
    choices,
    race,
    tried,
    view: { ...view, viewport: null },
  };
  return {
    status,
    awaiting,
    notice,
    offer,
    modes,
    flows,
    briefs,
    bodies,
    turns,
    sent,
    steered,
    returned,
    building,
    ...ours,
  };
}

/** @param {ReadonlySet<string>} folded @param {string} id @param {boolean} fold */
function withFold(folded, id, fold) {
  const next = new Set(folded);
  if (fold) next.add(id);
  else next.delete(id);
  return next;
}
