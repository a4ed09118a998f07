// The place of the reader, in the address: it survives a reload, can be sent to somebody, and "back" goes back.

const AFTER_MS = 300;

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

// Browsers count these calls: a key that is held down makes one of them, at its end.
export function createAddress() {
  let timer = 0;
  return {
    /** @param {Place} place */
    show(place) {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        const wanted = writePlace(place);
        if (wanted !== location.search) history.pushState(null, "", location.pathname + wanted);
      }, AFTER_MS);
    },
  };
}
