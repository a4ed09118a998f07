// Keeps the state and tells who listens when it has changed.

export function createStore(reduce, initial) {
  let state = initial;
  const listeners = [];
  return {
    get state() {
      return state;
    },
    change(kind, details = {}) {
      const next = reduce(state, { kind, ...details });
      if (next === state) return;
      state = next;
      for (const listen of listeners) listen(state);
    },
    subscribe(listen) {
      listeners.push(listen);
    },
  };
}
