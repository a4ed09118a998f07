// Draws the parts of the page, each only when something that it read the last time is another.

import { createReading } from "../lib/tracked.js";

/** @import { Say } from "../lib/words.js" */
/** @import { State } from "../state/state.js" */
/** @typedef {{ draw: (state: State, say: Say) => void }} Part */

/** @param {Part} part @returns {(state: State, say: Say) => void} */
export function drawnWhenNeeded(part) {
  /** @type {ReturnType<typeof createReading<State>>} */
  const reading = createReading(["view"]);
  /** @type {Say | null} */
  let said = null;
  return (state, say) => {
    if (said === say && !reading.differs(state)) return;
    said = say;
    reading.of(state, (seen) => part.draw(seen, say));
  };
}
