// The place of the reader, in the address: it survives a reload, can be sent to somebody, and "back" goes back.

const STAY_MS = 300;

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

// One step back for each stay, not for each turn that was passed: the first step away from a stay is written at once, and
// of those that follow quickly the last. Writing costs a browser milliseconds, and who does it too often is not heard.
export function createAddress() {
  let timer = 0;
  let movedAt = 0;
  /** @param {Place} place @param {"pushState" | "replaceState"} how */
  const write = (place, how) => {
    const wanted = writePlace(place);
    if (wanted !== location.search) history[how](null, "", location.pathname + wanted);
  };
  return {
    /** @param {Place} place */
    show(place) {
      const stayed = Date.now() - movedAt > STAY_MS;
      movedAt = Date.now();
      clearTimeout(timer);
      if (stayed) write(place, "pushState");
      else timer = window.setTimeout(() => write(place, "replaceState"), STAY_MS);
    },
  };
}
