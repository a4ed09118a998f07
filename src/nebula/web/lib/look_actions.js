// What the reader asks to see before they decide: the files of a turn, two turns side by side, models, filters, figures.

const DAY_MS = 86_400_000;

/** @import { Offer } from "../state/reduce.js" */
/** @import { Link } from "./link.js" */
/** @import { Store } from "./server_actions.js" */
/** @import { Say } from "./words.js" */

/**
 * @param {{ store: Store, link: () => Link, say: () => Say, attempt: (work: () => Promise<any>) => Promise<boolean>, notice: (text: string, offer?: Offer) => void }} tools
 */
export function createLookActions({ store, link, say, attempt, notice }) {
  const open = (/** @type {string} */ dialog) => store.change("view", { to: { dialog } });
  return {
    // What a turn changed, and what going back to its files would do now.
    /** @param {string} id */
    lookAtFiles: (id) =>
      attempt(async () => {
        const { changed, back, plan } = await link().ask("node_files", { node_id: id });
        store.change("files", { files: { nodeId: id, changed, back, plan } });
        open("files");
      }),
    takeFiles: () =>
      attempt(async () => {
        const { files } = store.state;
        if (!files) return;
        const { paths, taken } = await link().ask("take_files", { node_id: files.nodeId, plan: files.plan });
        notice(say()("files_taken", { paths: paths.join(", ") }), { undo: "files", taken });
      }),
    /** @param {string} taken */
    giveFilesBack: (taken) =>
      attempt(async () => {
        const { paths } = await link().ask("give_files_back", { taken });
        notice(say()("files_given_back", { paths: paths.join(", ") }));
      }),
    /** @param {string[]} ids */
    compare: (ids) =>
      attempt(async () => {
        const { files } = await link()
          .ask("compare_files", { node_ids: ids })
          .catch(() => ({ files: [] }));
        store.change("compared", { compared: { ids, files } });
        open("compare");
      }),
    showFigures: (days = 0) =>
      attempt(async () => {
        const since = days ? { since: new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10) } : {};
        store.change("figures", { figures: { days, ...(await link().ask("get_figures", { all: true, ...since })) } });
        open("figures");
      }),
    loadModels: () => attempt(async () => store.change("models", { models: (await link().ask("list_models")).models })),
    loadFilters: () => attempt(async () => store.change("choices", { choices: await link().ask("list_filters") })),
  };
}
