// The search: its words and filters, its hits, and what is still being read for it.

const MOST_HITS = 1000;
export const AGAIN_MS = 2000;

/** @import { Brief, Filters } from "../state/state.js" */
/** @import { Asking, Store } from "../server/asking.js" */

/** @param {Store} store @param {Asking} asking @param {(id: string) => void} step */
export function createSearching(store, { ask, attempt }, step) {
  let searches = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  // A large graph is read bit by bit: until all of it is, the same is asked again.
  /** @param {number} number @param {string} text @param {Filters} filters */
  async function find(number, text, filters) {
    const { tag, ...others } = Object.fromEntries(Object.entries(filters).filter(([, each]) => each));
    const data = { text, ...(tag ? { tags: [tag] } : {}), ...others, brief: true, limit: MOST_HITS };
    const { nodes, total, unread = 0 } = await ask("search_nodes", data);
    if (number !== searches) return; // it was changed, or ended, meanwhile
    store.change("briefs", { nodes });
    store.change("search", { text, filters, hits: nodes.map((/** @type {Brief} */ node) => node.id), total, unread });
    if (unread) timer = setTimeout(() => attempt(() => find(number, text, filters)), AGAIN_MS);
  }

  return {
    /** @param {string} text @param {Filters} filters */
    async search(text, filters = store.state.search.filters) {
      const number = ++searches;
      clearTimeout(timer);
      if (text.trim() || Object.values(filters).some(Boolean)) await attempt(() => find(number, text, filters));
      else store.change("search", { text: "", filters: {}, hits: null });
    },
    /** @param {number} by One hit on, or one back. */
    stepHits(by) {
      const hits = store.state.search.hits ?? [];
      const at = hits.indexOf(store.state.selected ?? "");
      const next = at < 0 ? (by > 0 ? 0 : hits.length - 1) : (at + by + hits.length) % hits.length;
      if (hits.length) step(hits[next]);
    },
    toggleFilters() {
      const { view } = store.state;
      store.change("view", { to: { filters: !view.filters, tab: "outline" } });
      if (!view.filters) attempt(async () => store.change("choices", { choices: await ask("list_filters") }));
    },
  };
}
/** @typedef {ReturnType<typeof createSearching>} Searching */
