// The place of the reader, in the address: it survives a reload, can be sent to somebody, and "back" goes back.

const STAY_MS = 300;
/** What a reader sees who asked for no flow. */
export const FIRST_FLOW = "main";

/** @import { Question } from "../server/link.js" */
/** @typedef {{ flow: string | null, node: string | null, figures?: number | null }} Place `figures`: of so many days, 0 is all. */

/** @param {string} search @returns {Place} */
export function readPlace(search) {
  const found = new URLSearchParams(search);
  const figures = found.get("figures");
  return {
    flow: found.get("flow"),
    node: found.get("node"),
    figures: figures === null ? null : Number.parseInt(figures) || 0,
  };
}

/** @param {Place} place */
export function writePlace({ flow, node, figures = null }) {
  const written = new URLSearchParams();
  if (flow && (node || flow !== FIRST_FLOW)) written.set("flow", flow);
  if (node) written.set("node", node);
  if (figures !== null) written.set("figures", figures ? String(figures) : "all");
  const text = written.toString();
  return text ? `?${text}` : "";
}

// What has to be known before a place can be shown. It is asked as soon as there is a line, before anybody is there to ask.
/** @param {string} flow @param {string | null} node @returns {[Question, Question, Question]} */
export function questionsAt(flow, node) {
  return [
    { action: "get_flow", data: { flow_id: flow, compact: true } },
    { action: "first_nodes", data: { flow_id: flow, ...(node ? { near: node } : {}) } },
    { action: "list_flows", data: {} },
  ];
}

// One step back for each stay, not for each turn that was passed. Writing costs a browser milliseconds, and who does it too
// often is not heard any more: while the reader is passing by, only the last place is written.
export function createAddress() {
  let timer = 0;
  let movedAt = 0;
  /** @param {Place} place @param {"pushState" | "replaceState"} how */
  const write = (place, how) => {
    const wanted = writePlace(place);
    if (wanted !== location.search) history[how](null, "", location.pathname + wanted);
  };
  return {
    /** @param {Place} place @param {boolean} passing */
    show(place, passing = false) {
      const stayed = Date.now() - movedAt > STAY_MS;
      movedAt = Date.now();
      clearTimeout(timer);
      if (passing) timer = window.setTimeout(() => write(place, "replaceState"), STAY_MS);
      else write(place, stayed ? "pushState" : "replaceState");
    },
  };
}
