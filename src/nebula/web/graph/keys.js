import { isChosen, withChosen } from "../commands.js";
import { NARROW } from "./graph.js";
import { neighbour, nextFork } from "../state/topology.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { Looking } from "../app/looking.js" */
/** @import { Command } from "../commands.js" */
/** @import { Selectors } from "../state/selectors.js" */
/** @import { State } from "../state/state.js" */
/** @import { Topology } from "../state/topology.js" */
/** @import { Edits } from "./edits.js" */

/**
 * Along the lines, and changes of them.
 * @param {Choosing} choosing
 * @param {Edits} edits
 * @param {Pick<Looking, "look">} looking
 * @param {Selectors} selectors
 * @param {(id: string) => void} openFlow
 * @returns {Command[]}
 */
export function flowKeys({ merge, step, parentsOf }, edits, { look }, selectors, openFlow) {
  const goTo =
    (/** @type {(topology: Topology, id: string) => string | null} */ find) => (/** @type {State} */ state) => {
      const id = find(selectors.topology(state), state.selected ?? "");
      if (id) step(id);
    };
  const detach = withChosen((id) =>
    parentsOf(id)
      .slice(0, 1)
      .forEach((parent) => edits.disconnect(parent, id)),
  );
  const remove = (/** @type {State} */ state) =>
    state.merging.length ? look({ dialog: "delete" }) : withChosen((id) => edits.remove([id]))(state);
  const isKnown = (/** @type {State} */ { flow }) => flow.id !== "";
  const hasBody = (/** @type {State} */ { selected, bodies }) => bodies.has(selected ?? "");
  const isArchived = (/** @type {State} */ { flow, flows }) =>
    flows.some(({ id, archived }) => id === flow.id && archived);
  const isPinned = (/** @type {State} */ { selected, briefs }) => Boolean(briefs.get(selected ?? "")?.pinned);
  const opened = (/** @type {State} */ { selected, flow }) => flow.opens?.[selected ?? ""] ?? "";
  const hasOtherFlows = (/** @type {State} */ state) => isChosen(state) && state.flows.length > 1;
  const follows = (/** @type {State} */ { selected }) => selected !== null && parentsOf(selected).length > 0;
  return [
    { name: "merge", keys: ["m"], when: isChosen, run: withChosen(merge) },
    { name: "delete", keys: ["Delete"], when: isChosen, run: remove },
    { name: "link", keys: ["l"], when: isChosen, run: () => look({ dialog: "link_turn" }) },
    { name: "detach", keys: ["x"], when: follows, run: detach },
    { name: "parent", keys: ["k"], when: isChosen, run: goTo((topology, id) => neighbour(topology, id, "up")) },
    { name: "child", keys: ["j"], when: isChosen, run: goTo((topology, id) => neighbour(topology, id, "down")) },
    { name: "previous_fork", keys: ["["], when: isChosen, run: goTo((topology, id) => nextFork(topology, id, "up")) },
    { name: "next_fork", keys: ["]"], when: isChosen, run: goTo((topology, id) => nextFork(topology, id, "down")) },
    { name: "undo", keys: ["Ctrl+z"], run: edits.undo },
    { name: "redo", keys: ["Ctrl+Z", "Ctrl+y"], run: edits.redo },
    { name: "new_flow", keys: [], run: () => look({ dialog: "new_flow" }) },
    { name: "edit_turn", keys: ["E"], when: hasBody, run: withChosen(edits.edit) },
    { name: "delete_branch", keys: [], when: isChosen, run: withChosen(edits.removeBranch) },
    { name: "move_branch", keys: [], when: hasOtherFlows, run: () => look({ dialog: "move_branch" }) },
    { name: "name_branch", keys: [], when: follows, run: () => look({ dialog: "name_branch" }) },
    { name: "nest_branch", keys: [], when: isChosen, run: () => look({ dialog: "nest_branch" }) },
    { name: "link_flow", keys: [], when: hasOtherFlows, run: () => look({ dialog: "link_flow" }) },
    { name: "open_flow", keys: ["o"], when: (state) => opened(state) !== "", run: (state) => openFlow(opened(state)) },
    {
      name: "pin",
      keys: ["*"],
      when: isChosen,
      run: (state) => withChosen((id) => edits.pin(id, !isPinned(state)))(state),
    },
    { name: "note_turn", keys: ["N"], when: hasBody, run: () => look({ dialog: "note_turn" }) },
    { name: "rename_tag", keys: [], run: edits.askForTag },
    { name: "outside", keys: [], run: edits.showOutside },
    { name: "share_branch", keys: [], when: isChosen, run: withChosen(edits.shareBranch) },
    { name: "count_flow", keys: [], when: isKnown, run: edits.countFlow },
    {
      name: "archive_flow",
      keys: [],
      when: (state) => isKnown(state) && !isArchived(state),
      run: () => edits.archiveFlow(true),
    },
    { name: "unarchive_flow", keys: [], when: isArchived, run: () => edits.archiveFlow(false) },
    {
      name: "show_archived",
      keys: [],
      when: ({ flows }) => flows.some((flow) => flow.archived),
      run: ({ view }) => look({ archived: !view.archived }),
    },
    { name: "delete_flow", keys: [], when: isKnown, run: () => look({ dialog: "delete_flow" }) },
    { name: "rename_flow", keys: [], when: ({ flow }) => flow.id !== "", run: () => look({ dialog: "rename_flow" }) },
  ];
}

/**
 * The picture.
 * @param {{ fit: () => void, zoom: (factor: number) => void }} graph
 * @param {Pick<Looking, "look">} looking
 * @param {Pick<Selectors, "isGraph">} selectors
 * @returns {Command[]}
 */
export function pictureKeys({ fit, zoom }, { look }, { isGraph }) {
  return [
    {
      name: "graph",
      keys: ["g"],
      when: isGraph,
      run: ({ view }) =>
        matchMedia(NARROW).matches && view.graph
          ? look({ wide: !view.wide, viewport: null })
          : look({ graph: !view.graph, tab: view.tab === "graph" ? "talk" : "graph" }),
    },
    { name: "fit", keys: ["f"], run: fit },
    { name: "zoom_in", keys: ["+", "="], run: () => zoom(1.25) },
    { name: "zoom_out", keys: ["-"], run: () => zoom(0.8) },
    { name: "folding", keys: ["z"], run: ({ view }) => look({ folding: !view.folding }) },
  ];
}
