// Summaries on request: asks first, then builds in small parts, so that it can be stopped between them.

const BUILT_AT_ONCE = 2;

/** @import { Asking, Store } from "../server/asking.js" */

/** @param {Store} store @param {Asking} asking */
export function createSummaries(store, { ask, attempt, tell }) {
  return {
    askToBuild: () =>
      attempt(async () => {
        const { node_ids: due } = await ask("list_due");
        if (due.length) store.change("view", { to: { dialog: "build", due } });
        else tell("nothing_due");
      }),
    build: () =>
      attempt(async () => {
        const { due } = store.state.view;
        let done = 0;
        store.change("building", { building: { done, total: due.length } });
        try {
          while (done < due.length && store.state.building) {
            const { stopped, failed } = await ask("build", { node_ids: due.slice(done, done + BUILT_AT_ONCE) });
            if (failed.length || stopped)
              throw Object.assign(new Error(failed[0]?.error ?? String(stopped)), { code: "failed" });
            done = Math.min(due.length, done + BUILT_AT_ONCE);
            if (store.state.building) store.change("building", { building: { done, total: due.length } });
          }
          tell("built", { count: done });
        } finally {
          store.change("building", { building: null });
        }
      }),
    stopBuilding: () => store.change("building", { building: null }),
  };
}
/** @typedef {ReturnType<typeof createSummaries>} Summaries */
