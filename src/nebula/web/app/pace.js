// Tells whether the reader is passing by: stepping on without a rest. The first step is no hurry yet.

/** @param {number} ms Shorter stays than this are none. @param {() => number} now */
export function createPace(ms, now = () => performance.now()) {
  let since = -Infinity;
  let passing = false;
  return {
    step() {
      passing = now() - since < ms;
      since = now();
    },
    rest() {
      passing = false;
    },
    get isPassing() {
      return passing && now() - since < ms;
    },
  };
}
/** @typedef {ReturnType<typeof createPace>} Pace */
