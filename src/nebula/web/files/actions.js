// What the reader asks to see before they decide: the files of a turn, two turns side by side.

/** @import { Choosing } from "../app/choosing.js" */
/** @import { Asking, Store } from "../server/asking.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { FileDifference } from "../state/state.js" */

const PAUSE_MS = 120;
const FEW = 5;

/**
 * @param {Store} store @param {Asking} asking @param {Pick<Choosing, "open">} choosing
 * @param {(nodeId: string) => Promise<any>} takeTry Takes what a try did that never worked in the project itself. @param {() => Say} say
 */
export function createFileActions(store, { ask, attempt, notice }, { open }, takeTry, say) {
  /** @param {any} found */
  const keep = ({ node_id: nodeId, changed, back, plan, written, alive }) =>
    store.change("files", { files: { nodeId, changed, back, plan, written, alive, named: [] } });
  /** @param {string} id @param {string} plan @param {string[]} named */
  const take = async (id, plan, named = []) => {
    const { paths, taken, left_out: left } = await ask("take_files", { node_id: id, plan, named });
    const told = [say()("files_taken", { paths: paths.join(", ") }), ...left].join(" ");
    notice(told, { steps: [{ action: "give_files_back", data: { taken } }], done: "files_given_back" });
  };
  let wanted = "";
  return {
    // Turns and files by what is typed into the palette; of what is typed quickly only the last is asked.
    /** @param {string} text */
    async find(text) {
      wanted = text;
      await new Promise((done) => setTimeout(done, PAUSE_MS));
      if (wanted !== text || !text) return;
      await attempt(async () => {
        const [{ paths }, { nodes }] = await Promise.all([
          ask("find_files", { text }),
          ask("search_nodes", { text, brief: true, limit: FEW }),
        ]);
        store.change("found", { found: { text, paths, nodes } });
      });
    },
    // What a turn changed, and what going back to its files would do now.
    /** @param {string} id */
    lookAtFiles: (id) =>
      attempt(async () => {
        keep(await ask("node_files", { node_id: id }));
        store.change("view", { to: { dialog: "files" } });
      }),
    // How many of its lines are left; nobody waits for it.
    /** @param {string} id */
    countLines: (id) =>
      attempt(async () => {
        const { files } = await ask("node_lines", { node_id: id });
        store.change("alive", { nodeId: id, files });
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
        if (files) await take(files.nodeId, files.plan, files.named);
      }),
    // A secret or control file comes back only where it is named.
    /** @param {string} path @param {boolean} on */
    nameFile(path, on) {
      const { files } = store.state;
      const others = files?.named.filter((each) => each !== path) ?? [];
      if (files) store.change("files", { files: { ...files, named: on ? [...others, path] : others } });
    },
    // The better of two: its files come back, and the conversation goes on from it. What stands in the way is shown.
    /** @param {string} id */
    pickWinner: (id) =>
      attempt(async () => {
        const found = await ask("node_files", { node_id: id });
        const { changed, back, plan } = found;
        if (!changed.length && store.state.bodies.get(id)?.files?.length) return takeTry(id);
        if (back.some((/** @type {FileDifference} */ file) => file.conflict || file.protected)) {
          keep(found);
          store.change("view", { to: { dialog: "files" } });
          return;
        }
        if (back.length) await take(id, plan);
        open(id);
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
