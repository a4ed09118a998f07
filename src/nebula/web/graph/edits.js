// Changes of the graph as values: the steps to ask the server for, what is said then, and the steps that take them back.

/** @import { Edit, Step } from "../state/state.js" */
/** @import { Asking, Store } from "../server/asking.js" */

/** @type {Edit["undo"]} */
const undone = { done: "undone", steps: [{ action: "undo", data: {} }] };

/** @param {string} action @param {Record<string, any>} data @param {string} done @returns {Edit} */
const undoable = (action, data, done) => ({ steps: [{ action, data }], done, undo: undone });

/** @param {string} flowId @param {string} source @param {string} target @returns {Edit} */
export const connecting = (flowId, source, target) =>
  undoable("connect_nodes", { source_id: source, target_id: target, flow_id: flowId }, "connected");

/** @param {string} flowId @param {string} source @param {string} target @returns {Edit} */
const disconnecting = (flowId, source, target) =>
  undoable("disconnect_nodes", { source_id: source, target_id: target, flow_id: flowId }, "disconnected");

/** @param {string[]} ids @returns {Edit} */
export const deleting = (ids) => undoable("delete_nodes", { node_ids: ids }, "deleted");

/** @param {string} id @param {string[]} tags @returns {Edit} */
const tagging = (id, tags) => undoable("update_node", { node_id: id, tags }, "tagged");

/** @param {string} flowId @param {string} name @returns {Edit} */
export const renaming = (flowId, name) => undoable("update_flow", { flow_id: flowId, name }, "renamed");

/** @param {string} name @returns {Edit} */
const makingFlow = (name) => undoable("create_flow", { name }, "flow_made");

/** @param {Store} store @param {Asking} asking */
export function createEdits(store, asking) {
  const flowId = () => store.state.flow.id;
  /** @param {Step["action"]} action @param {string} done @param {string} otherwise */
  const step = (action, done, otherwise) =>
    asking.attempt(async () => asking.tell((await asking.ask(action)).done ? done : otherwise));
  return {
    /** @param {string} source @param {string} target */
    connect: (source, target) => asking.carryOut(connecting(flowId(), source, target)),
    /** @param {string} source @param {string} target */
    disconnect: (source, target) => asking.carryOut(disconnecting(flowId(), source, target)),
    /** @param {string[]} ids */
    remove: (ids) => asking.carryOut(deleting(ids)),
    /** @param {string} id @param {string[]} tags */
    tag: (id, tags) => asking.carryOut(tagging(id, tags)),
    /** @param {string} name */
    renameFlow: (name) => asking.carryOut(renaming(flowId(), name)),
    /** @param {string} name */
    async createFlow(name) {
      let id = ""; // another may have the same name
      const hear = (/** @type {{ flow_id: string }} */ made) => (id = made.flow_id);
      return (await asking.carryOut(makingFlow(name), hear)) && id;
    },
    /** @param {string} id Of the turn whose words become fields; empty for none. */
    edit: (id) => store.change("view", { to: { editing: id } }),
    /** @param {string} id @param {Record<string, any>} fields */
    correct: (id, fields) => asking.carryOut(undoable("update_node", { node_id: id, ...fields }, "corrected")),
    /** @param {string} id */
    removeBranch: (id) => asking.carryOut(undoable("delete_branch", { node_id: id, flow_id: flowId() }, "deleted")),
    /** @param {string} id @param {string} to @param {boolean} copy */
    moveBranch: (id, to, copy) =>
      asking.carryOut(undoable("move_branch", { node_id: id, to, flow_id: flowId(), copy }, "moved")),
    /** @param {string} source @param {string} target @param {string} name */
    nameBranch: (source, target, name) => {
      const data = { source_id: source, target_id: target, branch_name: name, flow_id: flowId() };
      return asking.carryOut(undoable("name_branch", data, "renamed"));
    },
    /** @param {string} id @param {boolean} pinned */
    pin: (id, pinned) =>
      asking.carryOut(undoable("update_node", { node_id: id, pinned }, pinned ? "pinned" : "unpinned")),
    /** @param {string} id @param {string} note */
    note: (id, note) => asking.carryOut(undoable("update_node", { node_id: id, note }, "noted")),
    /** @param {string} id @param {string} name */
    nestBranch: (id, name) =>
      asking.carryOut(undoable("nest_branch", { node_id: id, name, flow_id: flowId() }, "nested")),
    /** @param {string} id @param {string} to The flow that it opens from now on; empty for none. */
    linkFlow: (id, to) =>
      asking.carryOut(
        undoable("link_flow", { node_id: id, to, flow_id: flowId() }, to ? "flow_linked" : "flow_unlinked"),
      ),
    /** @param {string} tag @param {string} name */
    renameTag: (tag, name) => asking.carryOut(undoable("rename_tag", { tag, name }, "tag_renamed")),
    /** @param {string} id */
    addToFlow: (id) => asking.carryOut(undoable("add_to_flow", { node_id: id, flow_id: flowId() }, "added")),
    /** @param {boolean} archived */
    archiveFlow: (archived) =>
      asking.carryOut(
        undoable("update_flow", { flow_id: flowId(), archived }, archived ? "flow_archived" : "flow_unarchived"),
      ),
    // Turns that are in no flow.
    showOutside: () =>
      asking.attempt(async () => {
        store.change("outside", { outside: await asking.ask("list_outside") });
        store.change("view", { to: { dialog: "outside" } });
      }),
    askForTag: () =>
      asking.attempt(async () => {
        store.change("choices", { choices: await asking.ask("list_filters") });
        store.change("view", { to: { dialog: "rename_tag" } });
      }),
    deleteFlow: () => asking.carryOut(undoable("delete_flow", { flow_id: flowId() }, "flow_deleted")),
    countFlow: () =>
      asking.attempt(async () => {
        store.change("counted", { counted: await asking.ask("count_flow", { flow_id: flowId() }) });
        store.change("view", { to: { dialog: "count_flow" } });
      }),
    // One file that any browser shows.
    /** @param {string} id */
    shareBranch: (id) =>
      asking.attempt(async () => {
        const { html, turns } = await asking.ask("export_branch", { node_id: id });
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([html], { type: "text/html" }));
        link.download = `conversation-${id.slice(0, 8)}.html`;
        link.click();
        URL.revokeObjectURL(link.href);
        asking.tell("shared", { count: turns });
      }),
    undo: () => step("undo", "undone", "nothing_to_undo"),
    redo: () => step("redo", "redone", "nothing_to_redo"),
  };
}
/** @typedef {ReturnType<typeof createEdits>} Edits */
