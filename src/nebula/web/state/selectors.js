// What the page shows, worked out of the state: each view once for every version of what it depends on.

import { extended, layoutOf } from "../graph/layout.js";
import { grown, pathTo, rowsOf, topologyOf } from "./topology.js";

/** @import { Layout } from "../graph/layout.js" */
/** @import { State } from "./state.js" */
/** @import { Row, Topology } from "./topology.js" */

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
        ? grown(last.topology, flow.nodes.slice(last.topology.ids.length), flow.connections.slice(last.connections))
        : topologyOf(flow);
    last = { base: flow.base, connections: flow.connections.length, topology: next };
    return next;
  });
  /** @type {{ of: Map<string, number>, layout: Layout } | null} */
  let drawn = null;
  const layout = remembered(
    (/** @type {Topology} */ shape, /** @type {boolean} */ folding, /** @type {ReadonlySet<string>} */ opened) => {
      if (folding) return layoutOf(shape, true, opened);
      drawn = { of: shape.index, layout: drawn?.of === shape.index ? extended(drawn.layout, shape) : layoutOf(shape) };
      return drawn.layout;
    },
  );
  const rows = remembered(rowsOf);
  const path = remembered(pathTo);
  const placeOf = remembered((/** @type {Row[]} */ shown, /** @type {string | null} */ id) =>
    id === null ? -1 : shown.findIndex((row) => row.id === id),
  );
  const hits = remembered((/** @type {string[]} */ found) => found.map((id) => ({ ...HIT, id })));
  const pathSet = remembered((/** @type {string[]} */ ids) => new Set(ids));
  const marked = remembered((/** @type {string[] | null} */ found) => (found ? new Set(found) : null));

  const shape = (/** @type {State} */ state) => topology(state.flow);
  const shownRows = (/** @type {State} */ state) =>
    state.search.hits ? hits(state.search.hits) : rows(shape(state), state.folded);
  return {
    topology: shape,
    layout: (/** @type {State} */ state) => layout(shape(state), state.view.folding, state.view.opened),
    path: (/** @type {State} */ state) => path(shape(state), state.selected),
    pathSet: (/** @type {State} */ state) => pathSet(path(shape(state), state.selected)),
    rows: shownRows,
    placeOfRow: (/** @type {State} */ state) => placeOf(shownRows(state), state.selected),
    hits: (/** @type {State} */ state) => marked(state.search.hits),
  };
}

/** @type {Row} */
const HIT = { id: "", level: 1, kind: "turn", from: null, merges: [], branches: 0, holds: false, folded: false };

/** @typedef {ReturnType<typeof createSelectors>} Selectors */
