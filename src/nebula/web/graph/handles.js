// What can be done with a turn right on its card.

/** @import { Choosing } from "../app/choosing.js" */
/** @import { FileActions } from "../files/actions.js" */
/** @import { Asking, Store } from "../server/asking.js" */
/** @import { TurnActions } from "../transcript/actions.js" */
/** @import { Handles } from "./overlay.js" */

/**
 * @param {Store} store
 * @param {Pick<Asking, "ask" | "attempt">} asking
 * @param {Pick<Choosing, "open" | "toggle">} choosing
 * @param {Pick<TurnActions, "retry">} turns
 * @param {Pick<FileActions, "compare">} files
 * @param {(id: string) => void} openFlow
 * @param {() => void} focusPrompt
 * @returns {Handles}
 */
export function createHandles(store, { ask, attempt }, choosing, turns, files, openFlow, focusPrompt) {
  return {
    branch(id) {
      choosing.open(id);
      focusPrompt();
    },
    openFlow(id) {
      const flow = store.state.flow.opens?.[id];
      if (flow) openFlow(flow);
    },
    merge: (id) => choosing.toggle(id),
    retry: (id) =>
      attempt(async () => {
        if (!store.state.bodies.has(id)) store.change("body", { node: await ask("get_node", { node_id: id }) });
        turns.retry(id);
      }),
    compare(id) {
      const { selected } = store.state;
      if (selected !== null && selected !== id) files.compare([selected, id]);
    },
  };
}
