// What goes without asking in the conversation before the reader: heard of, and taken back.

import { continuing, isBusy, writes } from "../state/here.js";

/** @import { Looking } from "../app/looking.js" */
/** @import { Asking, Store } from "../server/asking.js" */
/** @import { State } from "../state/state.js" */

/**
 * The turn at work here, else the one that a prompt would continue: what names a conversation.
 * @param {State} state
 */
export function placeOf(state) {
  return (isBusy(state) ? state.turn : continuing(state)[0]) ?? "";
}

/** @param {Store} store @param {Pick<Asking, "ask" | "attempt" | "tell">} asking @param {Pick<Looking, "look">} looking */
export function createPermissionActions(store, { ask, attempt, tell }, { look }) {
  /** @param {string} action @param {object} data */
  async function heard(action, data = {}) {
    const place = placeOf(store.state); // nothing is allowed yet in a conversation that begins
    const { permissions } = place ? await ask(action, { node_id: place, ...data }) : { permissions: [] };
    if (place === placeOf(store.state)) store.change("allowed", { allowed: permissions });
  }
  // Nobody asked for it, and nobody is told where it cannot be had.
  const load = () => heard("list_permissions").catch(() => store.change("allowed", { allowed: [] }));
  const show = () => {
    load();
    look({ dialog: "permissions" });
  };
  /** @param {string} name Empty: all of them. */
  const revoke = (name) =>
    attempt(async () => {
      await heard("revoke_permissions", { name });
      tell(name ? "asked_again" : "all_asked", { name });
    });
  return {
    load,
    show,
    revoke,
    /** @param {string} text What is typed into the box, as in the terminal. */
    typed(text) {
      const [word, verb = "", ...name] = text.trim().split(/\s+/);
      if (!writes(store.state) || !/^\/(permissions|approvals|allowed)$/i.test(word)) return false;
      if (/^(revoke|ask|reset)$/i.test(verb)) revoke(name.join(" "));
      else show();
      return true;
    },
  };
}
/** @typedef {ReturnType<typeof createPermissionActions>} PermissionActions */
