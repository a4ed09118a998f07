// The whole state of the page, and how it changes: plain values in, a new value out, no page needed.

import { COMPOSING, FRESH } from "./composing.js";
import { concerns, heard, withEntries, withReturned } from "./events.js";
import { isOver, LOST } from "./turn.js";
import { foundAgain, NO_TURNS, reconciled, stopping, turnAt, waiting } from "./turns.js";

/** @import { Composing } from "./composing.js" */
/** @import { Flow } from "./topology.js" */
/** @import { Turn } from "./turn.js" */
/** @import { Turns } from "./turns.js" */
/** @import { Viewport } from "./viewport.js" */

/**
 * @typedef {object} Brief A node in the short form of lists; `problem` where its file cannot be read.
 * @property {string} id
 * @property {string} [title]
 * @property {string} [summary]
 * @property {string} [opening] How the answer begins.
 * @property {string[]} [tags]
 * @property {number} [files]
 * @property {string} [problem]
 */
/** @typedef {{ id: string, prompt: string, response: string, tags: string[], summary?: string, [more: string]: any }} Body */
/** @typedef {{ id: string, name: string, problem?: string, [more: string]: any }} FlowHead */

/**
 * @typedef {object} State
 * @property {string} status
 * @property {string} notice
 * @property {Offer | null} offer What can be done about it with one click.
 * @property {string[]} modes
 * @property {FlowHead[]} flows
 * @property {string} flowId
 * @property {Flow & { id: string, name: string, problem?: string, base?: object }} flow `base` stays while it only grows.
 * @property {boolean} outdated
 * @property {ReadonlyMap<string, Brief>} briefs
 * @property {ReadonlyMap<string, Body>} bodies
 * @property {string | null} selected
 * @property {string[]} merging
 * @property {boolean} joining Whether the next turn that is clicked joins those chosen.
 * @property {ReadonlySet<string>} folded
 * @property {{ text: string, filters: Filters, hits: string[] | null, total: number }} search
 * @property {{ tags: Record<string, number>, models: Record<string, number> } | null} choices What a search can be narrowed to.
 * @property {Turns} turns
 * @property {ReadonlySet<string>} sent Turns that this page asked for.
 * @property {ReadonlySet<string>} steered What this page said into turns at work, by id.
 * @property {{ traceId: string, prompt: string } | null} returned A prompt of this page that got no answer.
 * @property {{ done: number, total: number } | null} building
 * @property {Preview | null} preview
 * @property {Composing} composing
 * @property {{ root: string, editorUrl: string, model: string }} project Where the server is at home.
 * @property {string[]} models
 * @property {{ nodeId: string, changed: FileDifference[], back: FileDifference[], plan: string } | null} files
 * @property {{ ids: string[], files: FileDifference[] } | null} compared
 * @property {any} figures
 * @property {View} view
 */
/** @typedef {{ undo: "edit" } | { undo: "files", taken: string }} Offer */
/** @typedef {{ tag?: string, model?: string, since?: string, until?: string, path?: string }} Filters */
/** @typedef {{ path: string, added: number, removed: number, diff: string, conflict?: string }} FileDifference */
/** @typedef {{ from: string[], parts: { node_id: string, form: string, tokens: number, text: string }[], total_tokens: number, frame_tokens: number, budget: number, left_out: string[], attached: { name: string, kind: string, tokens: number }[], cost: number | null, model: string }} Preview */
/**
 * @typedef {object} View How the reader has the page before them.
 * @property {string} tab The part in sight where there is room for one only.
 * @property {boolean} graph
 * @property {boolean} drawer
 * @property {"" | "help" | "palette" | "new_flow" | "rename_flow" | "build" | "files" | "compare" | "figures" | "delete"} dialog
 * @property {string[]} due Turns whose summaries the dialog asks about.
 * @property {string} lang
 * @property {string} theme
 * @property {string} mode
 * @property {boolean} filters Whether the filters of the search are open.
 * @property {boolean} notify Whether the browser tells of a question while the page is out of sight.
 * @property {Record<string, number>} panels Widths that the reader gave them, in pixels.
 * @property {boolean} folding Whether the graph folds runs of turns.
 * @property {ReadonlySet<string>} opened First turns of runs that are not folded.
 * @property {Viewport | null} viewport
 */

/** @type {State} */
export const EMPTY = {
  status: "connecting",
  notice: "",
  offer: null,
  modes: [],
  flows: [],
  flowId: "main",
  flow: { id: "", name: "main", nodes: [], connections: [] },
  outdated: false,
  briefs: new Map(),
  bodies: new Map(),
  selected: null,
  merging: [],
  joining: false,
  folded: new Set(),
  search: { text: "", filters: {}, hits: null, total: 0 },
  choices: null,
  turns: NO_TURNS,
  sent: new Set(),
  steered: new Set(),
  returned: null,
  building: null,
  preview: null,
  composing: FRESH,
  project: { root: "", editorUrl: "", model: "" },
  models: [],
  files: null,
  compared: null,
  figures: null,
  view: {
    filters: false,
    notify: false,
    panels: {},
    due: [],
    tab: "talk",
    graph: true,
    drawer: false,
    dialog: "",
    lang: "en",
    theme: "auto",
    mode: "",
    folding: false,
    opened: new Set(),
    viewport: null,
  },
};

/** @type {Record<string, (state: State, change: any) => State>} */
const CHANGES = {
  status: (state, { status }) => ({ ...state, status }),
  notice: (state, { text, offer = null }) => ({ ...state, notice: text, offer }),
  hello: (state, { modes, project, turns, resumed, now }) => ({
    ...state,
    modes,
    project: project ?? state.project,
    turns: reconciled(state.turns, turns, resumed, now),
  }),
  flows: (state, { flows }) => ({ ...state, flows }),
  flow: (state, { flow, place = null }) => withFlow(place ? { ...state, selected: place } : state, flow),
  choose_flow: (state, { flowId }) => ({ ...EMPTY, ...kept(state), flowId }),
  briefs: (state, { nodes }) => ({
    ...state,
    briefs: withEntries(
      state.briefs,
      nodes.map((/** @type {Brief} */ node) => [node.id, node]),
    ),
  }),
  body: (state, { node }) => ({ ...state, bodies: withEntries(state.bodies, [[node.id, node]]) }),
  select: (state, { id, tab }) =>
    selecting(tab && tab !== state.view.tab ? { ...state, view: { ...state.view, tab } } : state, id),
  open: (state, { id, tab }) => opening({ ...state, view: { ...state.view, tab } }, id),
  merge: (state, { id }) => ({
    ...state,
    joining: true,
    merging: state.merging.includes(id) ? state.merging : [...state.merging, id],
  }),
  unmerge: (state, { id }) => ({ ...state, merging: state.merging.filter((each) => each !== id) }),
  fold: (state, { id, folded }) => ({ ...state, folded: withFold(state.folded, id, folded) }),
  toggle: (state, { id }) => toggled(state, id),
  search: (state, { text, filters = {}, hits, total = 0 }) => ({ ...state, search: { text, filters, hits, total } }),
  choices: (state, { choices }) => ({ ...state, choices }),
  models: (state, { models }) => ({ ...state, models }),
  files: (state, { files }) => ({ ...state, files }),
  compared: (state, { compared }) => ({ ...state, compared }),
  figures: (state, { figures }) => ({ ...state, figures }),
  sent: (state, { traceId, composing }) => ({
    ...state,
    sent: new Set(state.sent).add(traceId),
    composing: composing === state.composing ? { ...FRESH, model: composing.model } : state.composing,
    preview: null,
  }),
  steered: (state, { steeringId }) => ({ ...state, steered: new Set(state.steered).add(steeringId) }),
  edit: (state, { prompt }) => ({ ...state, returned: { traceId: "", prompt } }),
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
  if (change.kind === "event") return heard(state, change.name, change.data, change.now);
  const compose = COMPOSING[change.kind];
  return compose ? { ...state, composing: compose(state.composing, change) } : CHANGES[change.kind](state, change);
}

/**
 * What a new prompt would continue.
 * @param {State} state
 */
export function continuing(state) {
  const from = [state.selected, ...state.merging].filter((id) => id !== null);
  return [...new Set(from)];
}

/**
 * The turn that goes on, or ended, where the reader is.
 * @param {State} state
 * @returns {Turn | null}
 */
export function turnHere(state) {
  return turnAt(turnsOfFlow(state), continuing(state), state.selected);
}

/** @param {State} state @returns {Turns} */
function turnsOfFlow(state) {
  return new Map([...state.turns].filter(([, turn]) => concerns(state, { flow_id: turn.flowId })));
}

/**
 * Whether a prompt would have to wait: a turn from the same place is at work.
 * @param {State} state
 */
export function isBusy(state) {
  const turn = turnHere(state);
  return turn !== null && !isOver(turn);
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
 * What the strip shows: the turn at work here, else one elsewhere that has a question.
 * @param {State} state
 */
export function turnInSight(state) {
  const here = turnHere(state);
  return here !== null && !isOver(here) ? here : waiting(turnsOfFlow(state));
}

/** @param {State} state @param {string | null} id @returns {State} */
function selecting(state, id) {
  return state.selected === id
    ? state
    : { ...state, selected: id, merging: id ? state.merging : [], joining: state.joining && id !== null };
}

// A click: this turn alone, unless the reader said that it shall join those chosen.
/** @param {State} state @param {string} id @returns {State} */
function opening(state, id) {
  const next = selecting(state, id);
  return { ...next, joining: false, merging: state.joining ? next.merging : [] };
}

// One more turn beside the chosen one, or one less: what a prompt would then continue together.
/** @param {State} state @param {string} id @returns {State} */
function toggled(state, id) {
  const chosen = continuing(state);
  const next = chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id];
  return { ...state, selected: next[0] ?? null, merging: next.slice(1), joining: false };
}

/** @param {State} state @param {State["flow"]} flow */
function withFlow(state, flow) {
  const isHere = (/** @type {string} */ id) => flow.nodes.includes(id); // asked of few
  const selected = state.selected !== null && isHere(state.selected) ? state.selected : null;
  const turns = foundAgain(state.turns, isHere);
  const next = { ...state, flow: { ...flow, base: {} }, selected, turns, merging: state.merging.filter(isHere) };
  const unanswered = [...turnsOfFlow(next).values()].find(
    (turn) => turn.status === LOST && state.sent.has(turn.traceId),
  );
  return withReturned(next, unanswered ?? null);
}

/** @param {State} state */
function kept({
  status,
  modes,
  flows,
  briefs,
  bodies,
  turns,
  sent,
  steered,
  returned,
  building,
  composing,
  project,
  models,
  choices,
  view,
}) {
  return {
    status,
    modes,
    flows,
    briefs,
    bodies,
    turns,
    sent,
    steered,
    returned,
    building,
    composing,
    project,
    models,
    choices,
    view: { ...view, viewport: null },
  };
}

/** @param {ReadonlySet<string>} folded @param {string} id @param {boolean} fold */
function withFold(folded, id, fold) {
  const next = new Set(folded);
  if (fold) next.add(id);
  else next.delete(id);
  return next;
}
