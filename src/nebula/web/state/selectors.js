// What the page shows, worked out of the state: each view once for every version of what it depends on.

import { extended, layoutOf, settled } from "../graph/layout/layout.js";
import { liveTurns } from "../graph/live.js";
import { newestFirst, withDays } from "../outline/days.js";
import { linesOf, listed, Rows, withLive } from "../outline/lines.js";
import { grown, pathTo, topologyOf } from "./topology.js";

/** @import { Layout } from "../graph/layout/layout.js" */
/** @import { Live } from "../graph/live.js" */
/** @import { State } from "./state.js" */
/** @import { Topology } from "./topology.js" */

/**
 * Keeps the last result until one of the inputs is another.
 * @template {any[]} A
 * @template R
 * @param {(...inputs: A) => R} work
 * @returns {(...inputs: A) => R}
 */
export function remembered(work) {
  /** @type {A | null} */
  let known = null;
  /** @type {R} */
  let result;
  return (...inputs) => {
    if (known === null || inputs.some((each, place) => !known || each !== known[place])) {
      result = work(...inputs);
      known = inputs;
    }
    return result;
  };
}

// Whether any of the inputs is another than at the last call.
export function different() {
  /** @type {any[]} */
  let known = [];
  return (/** @type {any[]} */ ...inputs) => {
    const changed = inputs.length !== known.length || inputs.some((each, place) => each !== known[place]);
    known = inputs;
    return changed;
  };
}

export function createSelectors() {
  /** @type {{ base: object | undefined, connections: number, topology: Topology } | null} */
  let last = null;
  // A flow that only grew keeps its `base`: then the new nodes are added to what is known.
  const topology = remembered((/** @type {State["flow"]} */ flow) => {
    const goesOn = last !== null && flow.base !== undefined && last.base === flow.base;
    const next =
      last !== null && goesOn
        ? grown(
            last.topology,
            flow.nodes.slice(last.topology.ids.length),
            flow.connections.slice(last.connections),
            flow.tries,
          )
        : topologyOf(flow);
    last = { base: flow.base, connections: flow.connections.length, topology: next };
    return next;
  });
  const drawn = createDrawn();
  const layout = remembered(
    (
      /** @type {Topology} */ shape,
      /** @type {string} */ flowId,
      /** @type {boolean} */ folding,
      /** @type {ReadonlySet<string>} */ opened,
      /** @type {number} */ arranged,
      /** @type {number} */ wide,
    ) => (folding ? layoutOf(shape, { folding, opened, shape: wide }) : drawn(shape, `${flowId} ${arranged}`, wide)),
  );
  const live = createLive();
  const rows = remembered(
    (
      /** @type {Topology} */ shape,
      /** @type {ReadonlySet<string>} */ folded,
      /** @type {Readonly<Record<string, string>>} */ begun,
    ) => new Rows(withDays(newestFirst(linesOf(shape, folded)), begun)),
  );
  const rowsWithLive = remembered(withLive);
  const path = remembered(pathTo);
  const placeOf = remembered((/** @type {Rows} */ shown, /** @type {string | null} */ id) => shown.placeOf(id));
  const hits = remembered((/** @type {string[]} */ found) => new Rows([listed(found)]));
  const pathSet = remembered((/** @type {string[]} */ ids) => new Set(ids));
  const marked = remembered((/** @type {string[] | null} */ found) => (found ? new Set(found) : null));

  const shape = (/** @type {State} */ state) => topology(state.flow);
  const shownRows = (/** @type {State} */ state) =>
    state.search.hits
      ? hits(state.search.hits)
      : rowsWithLive(rows(shape(state), state.folded, state.flow.begun ?? NO_DAYS), live(state));
  return {
    topology: shape,
    layout: (/** @type {State} */ state) => {
      const { folding, opened, arranged, shape: wide } = state.view;
      return layout(shape(state), state.flow.id, folding, opened, arranged, wide);
    },
    live,
    // One turn is no graph; one at work counts, once.
    isGraph(/** @type {State} */ state) {
      const { ids, index } = shape(state);
      return ids.length + live(state).filter((turn) => !index.has(turn.id)).length >= FEWEST_TURNS;
    },
    path: (/** @type {State} */ state) => path(shape(state), state.selected),
    pathSet: (/** @type {State} */ state) => pathSet(path(shape(state), state.selected)),
    rows: shownRows,
    placeOfRow: (/** @type {State} */ state) => placeOf(shownRows(state), state.selected),
    hits: (/** @type {State} */ state) => marked(state.search.hits),
  };
}

// Where turns stand: what is added is put to it, and what is changed otherwise leaves the others in their places, until
// the picture is asked for anew (`version`).
function createDrawn() {
  /** @type {{ version: string, topology: Topology, layout: Layout } | null} */
  let last = null;
  /** @type {Map<string, { x: number, row: number }>} */
  let stood = new Map();
  return (/** @type {Topology} */ topology, /** @type {string} */ version, /** @type {number} */ shape) => {
    const goesOn = last !== null && last.version === version;
    let layout = null;
    if (last && goesOn && last.topology.index === topology.index) layout = extended(last.layout, topology);
    else if (last && goesOn) {
      const { layout: before } = last;
      last.topology.ids.forEach((id, place) => stood.set(id, { x: before.x[place], row: before.row[place] }));
      layout = settled(stood, topology);
    }
    if (!layout) stood = new Map();
    layout ??= layoutOf(topology, { shape });
    last = { version, topology, layout };
    return layout;
  };
}

// The same list for as long as nothing of it is another.
function createLive() {
  /** @type {{ key: string, live: Live[] }} */
  let last = { key: "[]", live: [] };
  return (/** @type {State} */ state) => {
    const live = liveTurns(state);
    const key = JSON.stringify(live);
    if (key !== last.key) last = { key, live };
    return last.live;
  };
}

const NO_DAYS = {};
const FEWEST_TURNS = 2;

/** @typedef {ReturnType<typeof createSelectors>} Selectors */
