// Keeps the state and tells who listens when it has changed.

/**
 * @template S
 * @param {(state: S, change: { kind: string, [detail: string]: any }) => S} reduce
 * @param {S} initial
 */
export function createStore(reduce, initial) {
  let state = initial;
  /** @type {((state: S) => void)[]} */
  const listeners = [];
  return {
    get state() {
      return state;
    },
    /** @param {string} kind @param {Record<string, any>} details */
    change(kind, details = {}) {
      const next = reduce(state, { kind, ...details });
      if (next === state) return;
      state = next;
      for (const listen of listeners) listen(state);
    },
    /** @param {(state: S) => void} listen */
    subscribe(listen) {
      listeners.push(listen);
    },
  };
}
