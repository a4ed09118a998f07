// The place of the reader, in the address: it survives a reload, can be sent to somebody, and "back" goes back.

const STAY_MS = 300;
const WINDOW_MS = 10_000;
const MOST_CALLS = 40;

/** @typedef {{ flow: string | null, node: string | null }} Place */

/** @param {string} search @returns {Place} */
export function readPlace(search) {
  const found = new URLSearchParams(search);
  return { flow: found.get("flow"), node: found.get("node") };
}

/** @param {Place} place */
export function writePlace({ flow, node }) {
  const written = new URLSearchParams();
  if (flow && (node || flow !== "main")) written.set("flow", flow);
  if (node) written.set("node", node);
  const text = written.toString();
  return text ? `?${text}` : "";
}

// One step back for each stay, not for each turn that was passed. Browsers count these calls and stop listening to who
// makes too many: of a key that is held down for long, only the last place is written.
export function createAddress() {
  let timer = 0;
  let movedAt = 0;
  let [windowStart, calls] = [0, 0];
  /** @param {Place} place */
  const write = (place) => {
    const wanted = writePlace(place);
    if (wanted === location.search) return;
    const stayed = Date.now() - movedAt > STAY_MS;
    movedAt = Date.now();
    calls++;
    history[stayed ? "pushState" : "replaceState"](null, "", location.pathname + wanted);
  };
  return {
    /** @param {Place} place */
    show(place) {
      clearTimeout(timer);
      if (Date.now() - windowStart > WINDOW_MS) [windowStart, calls] = [Date.now(), 0];
      if (calls < MOST_CALLS) write(place);
      else timer = window.setTimeout(() => write(place), STAY_MS);
    },
  };
}
