// What the browser remembers: language and look for good; token and draft for this tab.

const LANGUAGE = "nebula.language";
const THEME = "nebula.theme";
const TOKEN = "nebula.token";
const DRAFT = "nebula.draft";
const PLACE = "nebula.place.";
const THEMES = ["auto", "light", "dark"];

export function language() {
  const chosen = localStorage.getItem(LANGUAGE);
  if (chosen === "en" || chosen === "ja") return chosen;
  return navigator.language.toLowerCase().startsWith("ja") ? "ja" : "en";
}

export function chooseLanguage(lang) {
  localStorage.setItem(LANGUAGE, lang);
}

export function theme() {
  const chosen = localStorage.getItem(THEME);
  return THEMES.includes(chosen) ? chosen : "auto";
}

export function nextTheme() {
  const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
  localStorage.setItem(THEME, next);
  return next;
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

// Where one was in each flow; nothing of it goes to the server.
export function placeIn(flowId) {
  return localStorage.getItem(PLACE + flowId);
}

export function keepPlace(flowId, nodeId) {
  if (nodeId) localStorage.setItem(PLACE + flowId, nodeId);
  else localStorage.removeItem(PLACE + flowId);
}

export function draft() {
  return sessionStorage.getItem(DRAFT) ?? "";
}

export function keepDraft(text) {
  if (text) sessionStorage.setItem(DRAFT, text);
  else sessionStorage.removeItem(DRAFT);
}
