// What is drawn, and what is to be known of each turn for that.

import { shownFor } from "../layout/placing.js";

/** @import { Say } from "../../lib/words.js" */
/** @import { State } from "../../state/state.js" */
/** @import { Topology } from "../../state/topology.js" */
/** @import { Layout } from "../layout/layout.js" */
/** @import { Point, Size, Viewport } from "../layout/viewport.js" */
/** @import { Placed } from "../live.js" */
/** @import { Colouring } from "./colouring.js" */
/** @typedef {{ from: number, point: Point | null, over: number | null, barred: boolean }} Link A connection that is being drawn. */
/**
 * @typedef {object} Scene
 * @property {Layout} layout
 * @property {Topology} topology
 * @property {Viewport} viewport
 * @property {Size} size
 * @property {Set<string>} path
 * @property {Set<string> | null} hits
 * @property {Pick<State, "briefs" | "selected" | "merging" | "flow" | "flows" | "view">} state
 * @property {Say} say
 * @property {(name: string) => string} colour A colour by its token.
 * @property {string} font
 * @property {Colouring} colouring
 * @property {Pick<Placed, "x" | "row" | "above">[]} live Turns at work.
 * @property {Link | null} link
 * @property {number | null} hovered
 * @property {(place: number) => number} grown How much of its way a new card has come, 1 in the end.
 */
/** @typedef {ReturnType<typeof standing>} Standing */

/** @param {Scene} scene @param {number} place */
export function standing({ layout, topology, state, path, hits, hovered }, place) {
  const id = topology.ids[place];
  const count = layout.runs.get(place) ?? 0;
  const chosen = topology.index.get(state.selected);
  return {
    id,
    place,
    count,
    brief: state.briefs.get(id),
    selected: chosen !== undefined && shownFor(layout, chosen) === place,
    onPath: path.has(id),
    hit: hits?.has(id) ?? false,
    picked: state.merging.includes(id),
    dim: hits !== null && !hits.has(id),
    merge: topology.parents[place].length > 1,
    branches: topology.children[place].length,
    hovered: hovered === place,
    opens: nameOfFlow(state, state.flow.opens?.[id]),
  };
}

/** @param {Pick<State, "flows">} state @param {string | undefined} id */
export function nameOfFlow({ flows }, id) {
  return id ? (flows.find((flow) => flow.id === id)?.name ?? "") : "";
}

/** @param {Scene} scene @param {Standing} now */
export function titleOf({ say }, { count, brief }) {
  if (count) return say("turns", { count });
  return brief ? brief.title || brief.summary || brief.problem || "–" : "";
}
