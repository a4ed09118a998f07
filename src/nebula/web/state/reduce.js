// The whole state of the page, and how it changes: plain values in, a new value out, no page needed.

import { begin, isOver, perform } from "./turn.js";

const MOST_BACKSTAGE = 500;

export const EMPTY = {
  status: "connecting",
  notice: "",
  modes: [],
  flows: [],
  flowId: "main",
  flow: { id: "", name: "main", nodes: [], connections: [] },
  outdated: false,
  briefs: new Map(),
  bodies: new Map(),
  selected: null,
  merging: [],
  folded: new Set(),
  search: { text: "", hits: null },
  turn: null,
  backstage: [],
};

const CHANGES = {
  status: (state, { status }) => ({ ...state, status }),
  notice: (state, { text }) => ({ ...state, notice: text }),
  hello: (state, { modes }) => ({ ...state, modes }),
  flows: (state, { flows }) => ({ ...state, flows }),
  flow: (state, { flow }) => withFlow(state, flow),
  choose_flow: (state, { flowId }) => ({ ...EMPTY, ...kept(state), flowId }),
  briefs: (state, { nodes }) => ({ ...state, briefs: with_(state.briefs, nodes.map((node) => [node.id, node])) }),
  body: (state, { node }) => ({ ...state, bodies: with_(state.bodies, [[node.id, node]]) }),
  select: (state, { id }) => (state.selected === id ? state : { ...state, selected: id, merging: id ? state.merging : [] }),
  merge: (state, { id }) => ({ ...state, merging: state.merging.includes(id) ? state.merging : [...state.merging, id] }),
  unmerge: (state, { id }) => ({ ...state, merging: state.merging.filter((each) => each !== id) }),
  fold: (state, { id, folded }) => ({ ...state, folded: withFold(state.folded, id, folded) }),
  search: (state, { text, hits }) => ({ ...state, search: { text, hits } }),
  stopping: (state) => (state.turn ? { ...state, turn: { ...state.turn, stopping: true } } : state),
  asking: (state) => ({ ...state, outdated: false }),
  outdated: (state) => ({ ...state, outdated: true }),
};

const EVENTS = {
  node_created: created,
  node_updated: changed,
  summary_built: changed,
  node_deleted: deleted,
  flow_updated: flowUpdated,
  resync_required: (state) => ({ ...state, outdated: true, bodies: new Map() }),
};

export function reduce(state, change) {
  if (change.kind === "event") return heard(state, change);
  return CHANGES[change.kind](state, change);
}

// What a new prompt would continue.
export function continuing(state) {
  const from = [state.selected, ...state.merging].filter((id) => id !== null);
  return [...new Set(from)];
}

export function isBusy(state) {
  return state.turn !== null && !isOver(state.turn);
}

function heard(state, { name, data, now }) {
  if (EVENTS[name]) return EVENTS[name](state, data);
  if (data.trace_id && concerns(state, data)) return turnEvent(state, data, now);
  return state;
}

function concerns(state, data) {
  return [state.flow.id, state.flow.name, state.flowId].includes(data.flow_id);
}

function turnEvent(state, data, now) {
  const known = state.turn?.traceId === data.trace_id;
  if (!known && data.type !== "task" && state.turn && !isOver(state.turn)) return state;
  const turn = perform(known ? state.turn : begin(data, now), data, now);
  if (known && turn === state.turn) return state;
  let next = { ...state, turn, backstage: behind(state.backstage, data) };
  const following = state.selected === null || turn.parents.includes(state.selected);
  if (isOver(turn) && turn.nodeId && following) next = { ...next, selected: turn.nodeId, merging: [] };
  return next;
}

function behind(backstage, data) {
  const cues = (data.stage ?? []).filter((cue) => cue.cue === "backstage");
  const own = data.type === "task" ? [{ title: "", text: data.prompt ?? "", start: true }] : [];
  return cues.length || own.length ? [...backstage, ...own, ...cues].slice(-MOST_BACKSTAGE) : backstage;
}

function created(state, { node_id, flow_id, parents, node }) {
  const briefs = with_(state.briefs, [[node_id, node]]);
  if (state.flow.id ? flow_id !== state.flow.id : state.flowId !== "main") return { ...state, briefs };
  const { nodes, connections } = state.flow;
  if (nodes.includes(node_id)) return { ...state, briefs };
  const added = parents.map(({ source }) => ({ source, target: node_id }));
  const flow = { ...state.flow, id: flow_id, nodes: [...nodes, node_id], connections: [...connections, ...added] };
  return { ...state, briefs, flow };
}

function changed(state, { node_id, node }) {
  const bodies = new Map(state.bodies);
  bodies.delete(node_id);
  return { ...state, bodies, briefs: with_(state.briefs, [[node_id, node]]) };
}

function deleted(state, { node_id }) {
  const flow = {
    ...state.flow,
    nodes: state.flow.nodes.filter((id) => id !== node_id),
    connections: state.flow.connections.filter(({ source, target }) => source !== node_id && target !== node_id),
  };
  const merging = state.merging.filter((id) => id !== node_id);
  return { ...state, flow, merging, selected: state.selected === node_id ? null : state.selected };
}

// Nodes come with events of their own; anything else that differs is fetched.
function flowUpdated(state, data) {
  const known = state.flows.some((flow) => flow.id === data.flow_id && flow.name === data.name);
  if (data.flow_id !== state.flow.id) return known && !data.deleted ? state : { ...state, outdated: true };
  const same = data.node_count === state.flow.nodes.length && data.connection_count === state.flow.connections.length;
  return data.only_grew && same && known ? state : { ...state, outdated: true };
}

function withFlow(state, flow) {
  const here = new Set(flow.nodes);
  const selected = here.has(state.selected) ? state.selected : null;
  return { ...state, flow, selected, merging: state.merging.filter((id) => here.has(id)) };
}

function kept({ status, modes, flows, briefs, bodies }) {
  return { status, modes, flows, briefs, bodies };
}

function with_(map, entries) {
  const next = new Map(map);
  for (const [key, value] of entries) next.set(key, value);
  return next;
}

function withFold(folded, id, fold) {
  const next = new Set(folded);
  if (fold) next.add(id);
  else next.delete(id);
  return next;
}
