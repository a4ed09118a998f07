// Remembers what was read of a state, so that a part of the page is drawn again when one of those values is another, and
// nobody keeps a list of them.
//
//   const reading = createReading(["view"]);
//   reading.differs(state)                              // true at first, and whenever something read is another
//   reading.of(state, (seen) => draw(seen))             // what `draw` reads of `seen` is remembered
//
// The fields named at the start are objects of many unrelated values: they are followed one level further.

/**
 * @template {object} S
 * @param {(keyof S & string)[]} deep
 */
export function createReading(deep = []) {
  /** @type {Map<string, any> | null} By field, or field and field inside it. */
  let known = null;
  return {
    /** @param {S} state */
    differs(state) {
      if (known === null) return true;
      for (const [path, value] of known) if (!Object.is(valueAt(state, path), value)) return true;
      return false;
    },
    /**
     * @template R
     * @param {S} state
     * @param {(seen: S) => R} draw
     * @returns {R}
     */
    of(state, draw) {
      /** @type {Map<string, any>} */
      const read = new Map();
      let reading = true;
      const note = (/** @type {string} */ path, /** @type {any} */ value) => {
        if (reading) read.set(path, value);
        return value;
      };
      const inner = (/** @type {string} */ field, /** @type {any} */ value) =>
        new Proxy(value, { get: (target, key) => note(`${field}.${String(key)}`, target[key]) });
      /** @type {Map<string, any>} */
      const followed = new Map(deep.map((field) => [field, inner(field, state[field])]));
      const seen = new Proxy(state, {
        get: (target, key) => followed.get(String(key)) ?? note(String(key), target[/** @type {keyof S} */ (key)]),
      });
      try {
        return draw(seen);
      } finally {
        reading = false;
        known = read;
      }
    },
  };
}

/** @param {any} state @param {string} path */
function valueAt(state, path) {
  const [field, key] = path.split(".");
  return key === undefined ? state[field] : state[field][key];
}
