// What the reader asks to see before they decide: the files of a turn, two turns side by side.

/** @import { Asking, Store } from "../server/asking.js" */
/** @import { Say } from "../lib/words.js" */

/** @param {Store} store @param {Asking} asking @param {() => Say} say */
export function createFileActions(store, { ask, attempt, notice }, say) {
  return {
    // What a turn changed, and what going back to its files would do now.
    /** @param {string} id */
    lookAtFiles: (id) =>
      attempt(async () => {
        const { changed, back, plan, written, alive } = await ask("node_files", { node_id: id });
        store.change("files", { files: { nodeId: id, changed, back, plan, written, alive } });
        store.change("view", { to: { dialog: "files" } });
      }),
    // A file as it is now, with the turn of each line.
    /** @param {string} path */
    lookAtLines: (path) =>
      attempt(async () => {
        store.change("lines", { lines: await ask("file_lines", { path }) });
        store.change("view", { to: { dialog: "lines" } });
      }),
    takeFiles: () =>
      attempt(async () => {
        const { files } = store.state;
        if (!files) return;
        const { paths, taken } = await ask("take_files", { node_id: files.nodeId, plan: files.plan });
        const back = { action: "give_files_back", data: { taken } };
        notice(say()("files_taken", { paths: paths.join(", ") }), { steps: [back], done: "files_given_back" });
      }),
    /** @param {string[]} ids */
    compare: (ids) =>
      attempt(async () => {
        const { files } = await ask("compare_files", { node_ids: ids }).catch(() => ({ files: [] }));
        store.change("compared", { compared: { ids, files } });
        store.change("view", { to: { dialog: "compare" } });
      }),
  };
}
/** @typedef {ReturnType<typeof createFileActions>} FileActions */
