// Everything the reader can do without a pointer, in one table: keys, palette and help sheet read it.
//
//   { name: "graph", keys: ["g"], run(page), when(state)? }
//
// `keys` are those of KeyboardEvent.key, with "Ctrl+" in front where that (or Command) is held. The words are `cmd_<name>`.

import { continuing, isBusy, turnHere } from "./state/reduce.js";
import { neighbour, nextFork } from "./state/topology.js";

/** @import { State } from "./state/reduce.js" */
/** @typedef {{ name: string, keys: string[], run: (page: any) => void, when?: (state: State) => boolean }} Command */

const chosen = (/** @type {State} */ state) => state.selected !== null;
const found = (/** @type {State} */ state) => Boolean(state.search.hits?.length);
const goTo = (/** @type {(page: any) => string | null} */ find) => (/** @type {any} */ page) => {
  const id = find(page);
  if (id) page.step(id);
};

/** @type {Command[]} */
export const COMMANDS = [
  { name: "palette", keys: ["Ctrl+k"], run: (page) => page.look({ dialog: "palette" }) },
  { name: "help", keys: ["?"], run: (page) => page.look({ dialog: "help" }) },
  { name: "search", keys: ["/"], run: (page) => page.focusSearch() },
  { name: "continue", keys: ["c"], run: (page) => page.focusPrompt() },
  { name: "start", keys: ["n"], run: (page) => page.start() },
  { name: "merge", keys: ["m"], when: chosen, run: (page) => page.merge(page.state.selected) },
  { name: "reference", keys: ["@"], when: chosen, run: (page) => page.refer(page.state.selected) },
  {
    name: "compare",
    keys: ["d"],
    when: (state) => continuing(state).length === 2,
    run: (page) => page.compare(continuing(page.state)),
  },
  {
    name: "files",
    keys: ["v"],
    when: (state) => chosen(state) && state.project.root !== "",
    run: (page) => page.lookAtFiles(page.state.selected),
  },
  { name: "retry", keys: ["r"], when: chosen, run: (page) => page.retry(page.state.selected) },
  { name: "edit", keys: ["e"], when: chosen, run: (page) => page.edit(page.state.selected) },
  { name: "tags", keys: ["t"], when: chosen, run: (page) => page.focusTags() },
  {
    name: "delete",
    keys: ["Delete"],
    when: chosen,
    run: (page) => (page.state.merging.length ? page.look({ dialog: "delete" }) : page.remove(page.state.selected)),
  },
  {
    name: "detach",
    keys: ["x"],
    when: chosen,
    run: (page) =>
      page
        .parentsOf(page.state.selected)
        .slice(0, 1)
        .forEach((parent) => page.disconnect(parent, page.state.selected)),
  },
  {
    name: "parent",
    keys: ["k"],
    when: chosen,
    run: goTo((page) => neighbour(page.topology, page.state.selected, "up")),
  },
  {
    name: "child",
    keys: ["j"],
    when: chosen,
    run: goTo((page) => neighbour(page.topology, page.state.selected, "down")),
  },
  {
    name: "previous_fork",
    keys: ["["],
    when: chosen,
    run: goTo((page) => nextFork(page.topology, page.state.selected, "up")),
  },
  {
    name: "next_fork",
    keys: ["]"],
    when: chosen,
    run: goTo((page) => nextFork(page.topology, page.state.selected, "down")),
  },
  { name: "next_hit", keys: ["."], when: found, run: (page) => page.stepHits(1) },
  { name: "previous_hit", keys: [","], when: found, run: (page) => page.stepHits(-1) },
  {
    name: "clear_search",
    keys: ["Escape"],
    when: (state) => state.search.hits !== null,
    run: (page) => page.clearSearch(),
  },
  { name: "filters", keys: [], run: (page) => page.toggleFilters() },
  { name: "figures", keys: ["i"], run: (page) => page.showFigures() },
  { name: "notify", keys: [], run: (page) => page.toggleNotify() },
  {
    name: "graph",
    keys: ["g"],
    run: (page) =>
      page.look({ graph: !page.state.view.graph, tab: page.state.view.tab === "graph" ? "talk" : "graph" }),
  },
  { name: "drawer", keys: ["b"], run: (page) => page.look({ drawer: !page.state.view.drawer }) },
  { name: "fit", keys: ["f"], run: (page) => page.graph.fit() },
  { name: "zoom_in", keys: ["+", "="], run: (page) => page.graph.zoom(1.25) },
  { name: "zoom_out", keys: ["-"], run: (page) => page.graph.zoom(0.8) },
  { name: "folding", keys: ["z"], run: (page) => page.look({ folding: !page.state.view.folding }) },
  {
    name: "mode",
    keys: ["p"],
    when: (state) => state.modes.includes("plan") && !state.modes.includes("chat"),
    run: (page) => page.switchMode(),
  },
  { name: "stop", keys: ["s"], when: isBusy, run: (page) => page.stop(turnHere(page.state)?.traceId) },
  {
    name: "build",
    keys: [],
    when: (state) => state.flow.nodes.length > 0 && !state.building,
    run: (page) => page.askToBuild(),
  },
  { name: "undo", keys: ["Ctrl+z"], run: (page) => page.undo() },
  { name: "redo", keys: ["Ctrl+Z", "Ctrl+y"], run: (page) => page.redo() },
  { name: "new_flow", keys: [], run: (page) => page.look({ dialog: "new_flow" }) },
  {
    name: "rename_flow",
    keys: [],
    when: (state) => state.flow.id !== "",
    run: (page) => page.look({ dialog: "rename_flow" }),
  },
  { name: "theme", keys: [], run: (page) => page.nextTheme() },
  { name: "language", keys: [], run: (page) => page.nextLanguage() },
];

/** @param {State} state */
export function possible(state) {
  return COMMANDS.filter((command) => !command.when || command.when(state));
}

/** @param {{ key: string, ctrlKey: boolean, metaKey: boolean, altKey: boolean, shiftKey: boolean }} event @param {State} state */
export function commandFor(event, state) {
  if (event.altKey) return null;
  const held = event.ctrlKey || event.metaKey;
  const pressed = held ? `Ctrl+${event.shiftKey ? event.key.toUpperCase() : event.key}` : event.key;
  return possible(state).find((command) => command.keys.includes(pressed)) ?? null;
}
