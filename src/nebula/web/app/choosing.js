// Which turns the reader has chosen, and what becomes of a turn's neighbours by that.

/** @import { Pace } from "./pace.js" */
/** @import { Store } from "../server/asking.js" */
/** @import { Selectors } from "../state/selectors.js" */

/** Where one part of the page is seen at a time. */
const ALONE = "(max-width: 59.99rem)";

/** @param {Store} store @param {Selectors} selectors @param {Pace} pace */
export function createChoosing(store, selectors, pace) {
  const change = (/** @type {string} */ kind) => (/** @type {string} */ id) => store.change(kind, { id });
  return {
    /** @param {string | null} id */
    select: (id) => store.change("select", { id }),
    // One of many steps, perhaps: by a key that is held down.
    /** @param {string} id */
    step(id) {
      pace.step();
      store.change("select", { id });
    },
    /** @param {string} id */
    open: (id) => store.change("open", { id, tab: "talk" }), // where there is room for one part only, the turn itself
    /** @param {string[]} ids Those that the next prompt continues. */
    goTo(ids) {
      store.change("select", { id: null, tab: "talk" });
      for (const id of ids) store.change("toggle", { id });
    },
    /** @param {string} traceId A turn at work, wherever it is. */
    watch: (traceId) => store.change("watch", { traceId }),
    /** @param {string} id @param {boolean} folded */
    fold: (id, folded) => store.change("fold", { id, folded }),
    // The other turn is pointed at in outline or graph; where these are out of sight it is chosen from a list.
    /** @param {string} id */
    merge: (id) =>
      matchMedia(ALONE).matches
        ? store.change("view", { to: { dialog: "merge_turn" } })
        : store.change("merge", { id }),
    unmerge: change("unmerge"),
    unmergeAll: () => store.state.merging.forEach((id) => store.change("unmerge", { id })),
    toggle: change("toggle"),
    /** @param {string} id */
    parentsOf(id) {
      const { ids, index, parents } = selectors.topology(store.state);
      return (parents[index.get(id) ?? -1] ?? []).map((place) => ids[place]);
    },
  };
}
/** @typedef {ReturnType<typeof createChoosing>} Choosing */
