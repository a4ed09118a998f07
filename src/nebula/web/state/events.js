// What the server tells without being asked, and what becomes of the state by it.

import { followRace } from "./race.js";
import { isOver } from "./turn.js";
import { withEvent, withWaiting } from "./turns.js";

/** @import { Brief, State } from "./state.js" */
/** @import { Turn, TurnEvent } from "./turn.js" */

/** @type {Record<string, (state: State, data: any) => State>} */
const EVENTS = {
  node_updated: changed,
  summary_built: changed,
  node_deleted: deleted,
  flow_updated: flowUpdated,
  steering_waits: (state, { trace_id, waiting }) => ({ ...state, turns: withWaiting(state.turns, trace_id, waiting) }),
  resync_required: missed,
};

/**
 * What was heard in one go. Nodes may come by the thousand (a git pull): those that follow each other are taken in together.
 * @param {State} state
 * @param {{ name: string, data: any }[]} events
 * @param {number} now
 */
export function heardAll(state, events, now) {
  let next = state;
  for (let place = 0; place < events.length;) {
    const start = place;
    while (place < events.length && events[place].name === "node_created") place++;
    if (place > start)
      next = created(
        next,
        events.slice(start, place).map((each) => each.data),
      );
    else next = heard(next, events[place].name, events[place++].data, now);
  }
  return next;
}

/** @param {State} state @param {string} name @param {any} data @param {number} now */
function heard(state, name, data, now) {
  if (EVENTS[name]) return EVENTS[name](state, data);
  if (data.try !== undefined || data.trace_id === state.race?.traceId)
    return state.race ? { ...state, race: followRace(state.race, data) } : state;
  return data.trace_id ? turnEvent(state, data, now) : state;
}

// Whether something is about the flow in sight.
/** @param {State} state @param {{ flow_id?: string }} data */
export function concerns(state, data) {
  return [state.flow.id, state.flow.name, state.flowId].includes(data.flow_id ?? "");
}

/** @param {State} state @param {TurnEvent} data @param {number} now */
function turnEvent(state, data, now) {
  const turns = withEvent(state.turns, data, now);
  if (turns === state.turns) return state;
  const turn = turns.get(data.trace_id);
  const next = { ...state, turns };
  return turn && isOver(turn) ? withUnheard(ended(next, turn), data) : next;
}

// The reader goes on at the node of the turn before them; nobody is carried off to a turn that ended elsewhere.
/** @param {State} state @param {Turn} turn @returns {State} */
export function ended(state, turn) {
  const follows = state.turn === turn.traceId && turn.nodeId !== null && concerns(state, { flow_id: turn.flowId });
  return withReturned(follows ? { ...state, selected: turn.nodeId, merging: [] } : state, turn);
}

// What this page said into a turn that did not hear it any more goes back as well.
/** @param {State} state @param {TurnEvent} data @returns {State} */
function withUnheard(state, { trace_id, unheard = [] }) {
  const ours = unheard.filter((each) => state.steered.has(each.steering_id)).map((each) => each.text);
  if (!ours.length) return state;
  const before = state.returned ? [state.returned.prompt] : [];
  return { ...state, returned: { traceId: trace_id, prompt: [...before, ...ours].join("\n\n") } };
}

// A turn without any answer makes no node: its prompt goes back to whoever typed it.
/** @param {State} state @param {Turn | null} turn @returns {State} */
export function withReturned(state, turn) {
  if (!turn || turn.nodeId || !state.sent.has(turn.traceId)) return state;
  const sent = new Set(state.sent);
  sent.delete(turn.traceId); // once
  return { ...state, sent, returned: { traceId: turn.traceId, prompt: turn.prompt } };
}

/** @typedef {{ node_id: string, flow_id: string, parents: { source: string }[], node: Brief, beginning?: string }} Created */

/** @param {State} state @param {Created[]} all @returns {State} */
function created(state, all) {
  const briefs = withEntries(
    state.briefs,
    all.map(({ node_id, node }) => [node_id, node]),
  );
  let { id } = state.flow;
  const nodes = [...state.flow.nodes];
  const connections = [...state.flow.connections];
  const known = new Set(nodes);
  /** @type {Record<string, string>} */
  const tries = {};
  /** @type {Record<string, string>} */
  const begun = {};
  for (const { node_id, node, flow_id, parents, beginning } of all) {
    if ((id ? flow_id !== id : state.flowId !== "main") || known.has(node_id)) continue;
    id = flow_id;
    known.add(node_id);
    nodes.push(node_id);
    if (beginning) tries[node_id] = beginning;
    if (!parents.length && node?.timestamp) begun[node_id] = node.timestamp;
    for (const { source } of parents) connections.push({ source, target: node_id });
  }
  if (nodes.length === state.flow.nodes.length) return { ...state, briefs };
  const flow = { ...state.flow, id, nodes, connections };
  if (Object.keys(tries).length) flow.tries = { ...flow.tries, ...tries };
  if (Object.keys(begun).length) flow.begun = { ...flow.begun, ...begun };
  return { ...state, briefs, flow };
}

// Any turn may have changed meanwhile. Were the texts taken away, the conversation would shrink, and the reader lose the place.
/** @param {State} state */
function missed(state) {
  const bodies = new Map([...state.bodies].map(([id, body]) => [id, { ...body, isOutdated: true }]));
  return { ...state, outdated: true, bodies };
}

// What was read stands until it is read again: whoever is at work in the turn keeps the focus and an open menu.
/** @param {State} state @param {{ node_id: string, node: Brief }} data */
function changed(state, { node_id, node }) {
  const body = state.bodies.get(node_id);
  const bodies = body ? withEntries(state.bodies, [[node_id, { ...body, isOutdated: true }]]) : state.bodies;
  return { ...state, bodies, briefs: withEntries(state.briefs, [[node_id, node]]) };
}

// Who read it goes on with the others that were chosen, else at the turn before.
/** @param {State} state @param {{ node_id: string }} data */
function deleted(state, { node_id }) {
  const flow = {
    ...state.flow,
    base: {},
    nodes: state.flow.nodes.filter((id) => id !== node_id),
    connections: state.flow.connections.filter(({ source, target }) => source !== node_id && target !== node_id),
  };
  const merging = state.merging.filter((id) => id !== node_id);
  if (state.selected !== node_id) return { ...state, flow, merging };
  const before = state.flow.connections.find(({ target }) => target === node_id)?.source ?? null;
  return { ...state, flow, selected: merging[0] ?? before, merging: merging.slice(1) };
}

// Nodes come with events of their own; anything else that differs is fetched.
/** @param {State} state @param {{ flow_id: string, name: string, [more: string]: any }} data */
function flowUpdated(state, data) {
  const known = state.flows.some(
    (flow) => flow.id === data.flow_id && flow.name === data.name && Boolean(flow.archived) === Boolean(data.archived),
  );
  // A list that is on its way may lack what was heard of just now: that it was is seen by the list's being another.
  if (data.flow_id !== state.flow.id && known && !data.deleted) return { ...state, flows: [...state.flows] };
  if (data.flow_id !== state.flow.id) return { ...state, outdated: true };
  const same = data.node_count === state.flow.nodes.length && data.connection_count === state.flow.connections.length;
  return data.only_grew && same && known ? state : { ...state, outdated: true };
}

/**
 * @template K, V
 * @param {ReadonlyMap<K, V>} map
 * @param {Iterable<[K, V]>} entries
 */
export function withEntries(map, entries) {
  const next = new Map(map);
  for (const [key, value] of entries) next.set(key, value);
  return next;
}
