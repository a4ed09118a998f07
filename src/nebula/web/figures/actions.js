// Asks for the figures of so many days and opens their sheet.

const DAY_MS = 86_400_000;

/** @import { Asking, Store } from "../server/asking.js" */

/** @param {Store} store @param {Asking} asking */
export function createFigureActions(store, { ask, attempt }) {
  return {
    /** @param {number} days Of the last so many; 0 is all. */
    showFigures: (days = 0) =>
      attempt(async () => {
        const since = days ? { since: new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10) } : {};
        store.change("figures", { figures: { days, ...(await ask("get_figures", { all: true, ...since })) } });
        store.change("view", { to: { dialog: "figures" } });
      }),
  };
}
/** @typedef {ReturnType<typeof createFigureActions>} FigureActions */
