// What the server tells without being asked, and what becomes of the state by it.

import { isOver } from "./turn.js";
import { withEvent, withWaiting } from "./turns.js";

/** @import { Brief, State } from "./reduce.js" */
/** @import { Turn, TurnEvent } from "./turn.js" */

/** @type {Record<string, (state: State, data: any) => State>} */
const EVENTS = {
  node_created: created,
  node_updated: changed,
  summary_built: changed,
  node_deleted: deleted,
  flow_updated: flowUpdated,
  steering_waits: (state, { trace_id, waiting }) => ({ ...state, turns: withWaiting(state.turns, trace_id, waiting) }),
  resync_required: (state) => ({ ...state, outdated: true, bodies: new Map() }),
};

/** @param {State} state @param {string} name @param {any} data @param {number} now */
export function heard(state, name, data, now) {
  if (EVENTS[name]) return EVENTS[name](state, data);
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
  const here = concerns(state, data);
  let next = { ...state, turns };
  if (!turn || !isOver(turn)) return next;
  const following = turn.parents.length ? turn.parents.includes(state.selected ?? "") : state.selected === null;
  if (here && turn.nodeId && following) next = { ...next, selected: turn.nodeId, merging: [] };
  return withUnheard(withReturned(next, turn), data);
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

/**
 * @param {State} state
 * @param {{ node_id: string, flow_id: string, parents: { source: string }[], node: Brief }} data
 */
function created(state, { node_id, flow_id, parents, node }) {
  const briefs = withEntries(state.briefs, [[node_id, node]]);
  if (state.flow.id ? flow_id !== state.flow.id : state.flowId !== "main") return { ...state, briefs };
  const { nodes, connections } = state.flow;
  if (nodes.includes(node_id)) return { ...state, briefs };
  const added = parents.map(({ source }) => ({ source, target: node_id }));
  const flow = { ...state.flow, id: flow_id, nodes: [...nodes, node_id], connections: [...connections, ...added] };
  return { ...state, briefs, flow };
}

/** @param {State} state @param {{ node_id: string, node: Brief }} data */
function changed(state, { node_id, node }) {
  const bodies = new Map(state.bodies);
  bodies.delete(node_id);
  return { ...state, bodies, briefs: withEntries(state.briefs, [[node_id, node]]) };
}

/** @param {State} state @param {{ node_id: string }} data */
function deleted(state, { node_id }) {
  const flow = {
    ...state.flow,
    base: {},
    nodes: state.flow.nodes.filter((id) => id !== node_id),
    connections: state.flow.connections.filter(({ source, target }) => source !== node_id && target !== node_id),
  };
  const merging = state.merging.filter((id) => id !== node_id);
  return { ...state, flow, merging, selected: state.selected === node_id ? null : state.selected };
}

// Nodes come with events of their own; anything else that differs is fetched.
/** @param {State} state @param {{ flow_id: string, name: string, [more: string]: any }} data */
function flowUpdated(state, data) {
  const known = state.flows.some((flow) => flow.id === data.flow_id && flow.name === data.name);
  if (data.flow_id !== state.flow.id) return known && !data.deleted ? state : { ...state, outdated: true };
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
