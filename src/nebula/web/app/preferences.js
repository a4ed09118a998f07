// What the browser remembers: language, look and places for good; token, draft, mode and name for this tab.

/** @import { Attached } from "../composer/composing.js" */
/** @import { State } from "../state/state.js" */

const LANGUAGE = "nebula.language";
const THEME = "nebula.theme";
const TOKEN = "nebula.token";
const DRAFT = "nebula.draft";
const ATTACHED = "nebula.attached";
const ANSWER = "nebula.answer.";
const LONGEST_DRAFT = 2_000_000; // a browser keeps some five million characters for a page, and refuses more
const MOST_ATTACHED = 1_500_000; // beside such a draft
const PLACE = "nebula.place.";
const MODE = "nebula.mode";
const MODEL = "nebula.model";
const PANELS = "nebula.panels";
const PARTS = "nebula.parts";
const NOTIFY = "nebula.notify";
const PAGE = "nebula.page";
const THEMES = ["auto", "light", "dark"];

export function language() {
  const chosen = localStorage.getItem(LANGUAGE);
  if (chosen === "en" || chosen === "ja") return chosen;
  return navigator.language.toLowerCase().startsWith("ja") ? "ja" : "en";
}

/** @param {string} lang */
export function chooseLanguage(lang) {
  localStorage.setItem(LANGUAGE, lang);
}

export function theme() {
  const chosen = localStorage.getItem(THEME);
  return chosen !== null && THEMES.includes(chosen) ? chosen : "auto";
}

/** @param {string} chosen */
export function chooseTheme(chosen) {
  localStorage.setItem(THEME, chosen);
  return chosen;
}

export function nextTheme() {
  return chooseTheme(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
}

// The token comes after `#`, which no server and no log sees; then it leaves the address bar.
export function takeToken() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(TOKEN, decodeURIComponent(found[1]));
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem(TOKEN) ?? "";
}

// Of this tab, also after it was loaded anew: what it did is its own to take back.
export function pageName() {
  const known = sessionStorage.getItem(PAGE) ?? `${Date.now()}-${Math.random()}`;
  sessionStorage.setItem(PAGE, known);
  return known;
}

// Where one was in each flow; nothing of it goes to the server.
/** @param {string} flowId */
export function placeIn(flowId) {
  return localStorage.getItem(PLACE + flowId);
}

/** @param {string} flowId @param {string | null} nodeId */
export function keepPlace(flowId, nodeId) {
  if (nodeId) localStorage.setItem(PLACE + flowId, nodeId);
  else localStorage.removeItem(PLACE + flowId);
}

export function mode() {
  return sessionStorage.getItem(MODE) ?? "";
}

/** @param {string} chosen */
export function keepMode(chosen) {
  sessionStorage.setItem(MODE, chosen);
}

export function model() {
  return localStorage.getItem(MODEL) ?? "";
}

/** @param {string} chosen */
export function keepModel(chosen) {
  localStorage.setItem(MODEL, chosen);
}

export function notify() {
  return localStorage.getItem(NOTIFY) === "yes";
}

/** @param {boolean} wanted */
export function keepNotify(wanted) {
  localStorage.setItem(NOTIFY, wanted ? "yes" : "no");
}

/** @returns {Record<string, number>} */
export function panels() {
  try {
    const found = JSON.parse(localStorage.getItem(PANELS) ?? "{}");
    return Object.fromEntries(Object.entries(found).filter(([, width]) => typeof width === "number"));
  } catch {
    return {};
  }
}

/** @param {Record<string, number>} widths */
export function keepPanels(widths) {
  localStorage.setItem(PANELS, JSON.stringify(widths));
}

// Which of the parts beside the conversation are in sight.
/** @returns {{ graph?: boolean, drawer?: boolean }} */
export function parts() {
  const chosen = localStorage.getItem(PARTS);
  return chosen === null ? {} : { graph: chosen.includes("graph"), drawer: chosen.includes("drawer") };
}

/** @param {boolean} graph @param {boolean} drawer */
export function keepParts(graph, drawer) {
  localStorage.setItem(PARTS, [graph && "graph", drawer && "drawer"].filter(Boolean).join(" "));
}

export function draft() {
  return sessionStorage.getItem(DRAFT) ?? "";
}

/** @param {string} text */
export function keepDraft(text) {
  if (text && text.length <= LONGEST_DRAFT) sessionStorage.setItem(DRAFT, text);
  else sessionStorage.removeItem(DRAFT);
}

/** @returns {(Attached | string)[]} By its name alone what was too much to be kept. */
export function attachedBefore() {
  return JSON.parse(sessionStorage.getItem(ATTACHED) ?? "[]");
}

/** @param {Attached[]} attached */
export function keepAttached(attached) {
  let room = MOST_ATTACHED;
  const kept = attached.map((each) => ((room -= JSON.stringify(each).length) < 0 ? each.name : each));
  sessionStorage.setItem(ATTACHED, JSON.stringify(kept));
}

// What was left out and typed below a question that is not answered yet.
/** @param {string} id @returns {{ off: Set<string>, reason: string }} */
export function begunAnswer(id) {
  const { off = [], reason = "" } = JSON.parse(sessionStorage.getItem(ANSWER + id) ?? "{}");
  return { off: new Set(off), reason };
}

/** @param {string} id @param {string[]} off @param {string} reason */
export function keepAnswer(id, off, reason) {
  if (off.length || reason) sessionStorage.setItem(ANSWER + id, JSON.stringify({ off, reason }));
  else sessionStorage.removeItem(ANSWER + id);
}

// The state at first: empty, but as the reader had the page before them.
/** @param {State} empty @param {string | null} flow @returns {State} */
export function rememberedState(empty, flow) {
  const view = { lang: language(), theme: theme(), mode: mode(), notify: notify(), panels: panels(), ...parts() };
  const attached = attachedBefore().filter((each) => typeof each !== "string");
  return {
    ...empty,
    flowId: flow ?? empty.flowId,
    composing: { ...empty.composing, model: model(), attached },
    view: { ...empty.view, ...view },
  };
}
