// Tells whether the reader is passing by: stepping from turn to turn without a rest. The first step is no hurry yet.

/** @param {number} ms Shorter stays than this are none. @param {() => number} now */
export function createPace(ms, now = () => performance.now()) {
  /** @type {string | null} */
  let here = null;
  let since = -Infinity;
  let passing = false;
  return (/** @type {string | null} */ place) => {
    if (place !== here) {
      passing = here !== null && now() - since < ms;
      since = now();
      here = place;
    }
    return passing && now() - since < ms;
  };
}
