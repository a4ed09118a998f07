// What can be done with turns: talk into one at work, answer its question, stop it, ask the same again beside it.

import { againWith } from "../composer/composing.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { ComposingActions } from "../composer/actions.js" */
/** @import { Asking, Store } from "../server/asking.js" */

/**
 * @param {Store} store
 * @param {Asking} asking
 * @param {Pick<Choosing, "goTo" | "parentsOf">} choosing
 * @param {Pick<ComposingActions, "send">} composing
 * @param {() => void} focusPrompt
 */
export function createTurnActions(store, { ask, attempt }, { goTo, parentsOf }, { send }, focusPrompt) {
  return {
    // Into a turn at work, which hears it before its next round.
    /** @param {string} traceId @param {string} text */
    steer: (traceId, text) =>
      attempt(async () => {
        const { steering_id: steeringId } = await ask("steer", { trace_id: traceId, text });
        store.change("steered", { steeringId });
      }),
    /** @param {string} approvalId @param {string} decision @param {{ paths?: string[], hunks?: number[] }} part */
    approve: (approvalId, decision, part = {}) =>
      attempt(() => ask("approve", { approval_id: approvalId, decision, ...part })),
    /** @param {string} traceId */
    stop(traceId) {
      store.change("stopping", { traceId });
      return attempt(() => ask("cancel", { trace_id: traceId }));
    },
    // The turn at work goes on out of sight; the next prompt begins another from the same turn.
    beside: () => store.change("beside"),
    // A prompt to begin with: it can be changed before it is sent.
    /** @param {string} prompt */
    suggest(prompt) {
      store.change("edit", { prompt });
      focusPrompt();
    },
    // Both make a turn beside this one: it stays as it is.
    /** @param {string} id */
    retry(id) {
      const body = store.state.bodies.get(id);
      if (!body?.prompt) return;
      const parents = parentsOf(id);
      goTo(parents);
      send(body.prompt, parents, againWith(store.state.composing, body));
    },
    /** @param {string} id */
    edit(id) {
      const prompt = store.state.bodies.get(id)?.prompt;
      if (!prompt) return;
      goTo(parentsOf(id));
      store.change("beside");
      store.change("edit", { prompt, again: id });
      focusPrompt();
    },
  };
}
/** @typedef {ReturnType<typeof createTurnActions>} TurnActions */
