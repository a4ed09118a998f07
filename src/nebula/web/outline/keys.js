/** @import { Command } from "../commands.js" */
/** @import { State } from "../state/state.js" */
/** @import { Searching } from "./searching.js" */
/** @import { Summaries } from "./summaries.js" */

/**
 * @param {Searching} searching
 * @param {Summaries} summaries
 * @param {{ focusSearch: () => void, clearSearch: () => void }} outline
 * @returns {Command[]}
 */
export function outlineKeys({ stepHits, toggleFilters }, { askToBuild }, { focusSearch, clearSearch }) {
  const found = (/** @type {State} */ { search }) => Boolean(search.hits?.length);
  return [
    { name: "search", keys: ["/"], run: focusSearch },
    { name: "next_hit", keys: ["."], when: found, run: () => stepHits(1) },
    { name: "previous_hit", keys: [","], when: found, run: () => stepHits(-1) },
    { name: "clear_search", keys: ["Escape"], when: ({ search }) => search.hits !== null, run: clearSearch },
    { name: "filters", keys: [], run: toggleFilters },
    { name: "build", keys: [], when: ({ flow, building }) => flow.nodes.length > 0 && !building, run: askToBuild },
  ];
}
