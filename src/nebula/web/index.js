// Puts the page together: state in the middle, the line to the server on one side, the components on the other.

import { createBackstage } from "./backstage/backstage.js";
import { createComposer } from "./composer/composer.js";
import { createGraph } from "./graph/graph.js";
import { isTyping, onNextFrame } from "./lib/dom.js";
import { Link } from "./lib/link.js";
import { chooseLanguage, keepPlace, language, nextTheme, takeToken, theme } from "./lib/preferences.js";
import { createServerActions } from "./lib/server_actions.js";
import { createStore } from "./lib/store.js";
import { speaker } from "./lib/words.js";
import { createOutline } from "./outline/outline.js";
import { createStage } from "./stage/stage.js";
import { lanesOf } from "./state/lanes.js";
import { EMPTY, reduce } from "./state/reduce.js";
import { pathTo, rowsOf, topologyOf } from "./state/topology.js";
import { createTranscript } from "./transcript/transcript.js";

const WIDE = matchMedia("(min-width: 60rem)");
/** @param {string} id @returns {any} */
const find = (id) => document.getElementById(id);
/** @param {string} selector @returns {NodeListOf<HTMLElement>} */
const findAll = (selector) => document.querySelectorAll(selector);

let say = speaker(language());
const look = { graph: WIDE.matches, backstage: false, tab: "talk" };
const store = createStore(reduce, EMPTY);
const token = takeToken();
const server = createServerActions(store, () => link, () => say);
const actions = {
  ...server,
  say: () => say,
  select: (id) => store.change("select", { id }),
  fold: (id, folded) => store.change("fold", { id, folded }),
  merge: (id) => store.change("merge", { id }),
  unmerge: (id) => store.change("unmerge", { id }),
  takenBack: () => store.change("taken_back"),
  start() {
    store.change("select", { id: null });
    composer.focus();
  },
};

const outline = createOutline(find("outline"), actions);
const graph = createGraph(find("graph"), actions);
const transcript = createTranscript(find("transcript"), actions);
const stage = createStage(find("stage"), actions);
const composer = createComposer(find("composer"), actions);
const backstage = createBackstage(find("backstage"), actions);

// The costly views of a flow are worked out once for each version of it.
const derived = { flow: null, folded: null };
function derive(state) {
  if (derived.flow !== state.flow) {
    derived.topology = topologyOf(state.flow);
    derived.lanes = lanesOf(derived.topology);
  }
  if (derived.flow !== state.flow || derived.folded !== state.folded) derived.rows = rowsOf(derived.topology, state.folded);
  Object.assign(derived, { flow: state.flow, folded: state.folded });
  return derived;
}

const draw = onNextFrame(() => {
  const { state } = store;
  const { topology, lanes, rows } = derive(state);
  const path = state.selected ? pathTo(topology, state.selected) : [];
  document.body.dataset.tab = look.tab;
  document.body.classList.toggle("with-graph", look.graph);
  document.body.classList.toggle("with-backstage", look.backstage);
  drawBanner(state);
  drawFlows(state);
  outline.draw(state, rows);
  graph.draw(state, topology, lanes, path);
  stage.draw(state);
  composer.draw(state);
  transcript.draw(state, path); // after those below it: it keeps its end in sight
  backstage.draw(state, look.backstage);
  find("toggle-graph").setAttribute("aria-pressed", String(look.graph));
  find("toggle-backstage").setAttribute("aria-pressed", String(look.backstage));
  for (const tab of findAll("[data-tab]")) if (tab !== document.body) tab.setAttribute("aria-pressed", String(tab.dataset.tab === look.tab));
  if (state.outdated && state.status === "open") server.refresh();
});

function drawBanner(state) {
  const banner = find("banner");
  const text = state.status === "open" ? state.notice : say(state.status);
  if (banner.textContent !== text) banner.textContent = text;
  banner.hidden = text === "";
  banner.className = state.status === "open" ? "" : "warning";
}

function drawFlows(state) {
  const flows = find("flows");
  flows.hidden = state.flows.length < 2;
  const wanted = state.flows.map((flow) => flow.id + flow.name).join();
  if (flows.dataset.drawn !== wanted) {
    flows.replaceChildren(...state.flows.map((flow) => new Option(flow.name, flow.id)));
    flows.dataset.drawn = wanted;
  }
  if (state.flow.id) flows.value = state.flow.id;
}

function speak(lang) {
  say = speaker(lang);
  document.documentElement.lang = lang;
  for (const each of findAll("[data-word]")) each.textContent = say(each.dataset.word ?? "");
  for (const each of findAll("[data-label]")) each.setAttribute("aria-label", say(each.dataset.label ?? ""));
  find("language").textContent = say("language");
  find("language").lang = lang === "ja" ? "en" : "ja";
  find("theme").textContent = say(`theme_${theme()}`);
  draw();
}

function turnTo(tab) {
  look.tab = tab;
  draw();
}

function showLook() {
  document.documentElement.dataset.theme = theme();
  find("theme").textContent = say(`theme_${theme()}`);
  draw();
}

find("language").addEventListener("click", () => {
  const next = document.documentElement.lang === "ja" ? "en" : "ja";
  chooseLanguage(next);
  speak(next);
});
find("theme").addEventListener("click", () => {
  nextTheme();
  showLook();
});
find("toggle-graph").addEventListener("click", () => {
  look.graph = !look.graph;
  draw();
});
find("toggle-backstage").addEventListener("click", () => {
  look.backstage = !look.backstage;
  draw();
});
find("flows").addEventListener("change", (event) => server.chooseFlow(event.target.value));
for (const tab of find("tabs").children) tab.addEventListener("click", () => turnTo(tab.dataset.tab));

const KEYS = {
  "/": () => {
    look.tab = "outline";
    outline.focusSearch();
  },
  g: () => {
    look.graph = !look.graph;
    look.tab = look.tab === "graph" ? "talk" : "graph";
  },
  b: () => (look.backstage = !look.backstage),
  c: () => {
    look.tab = "talk";
    composer.focus();
  },
  m: () => store.state.selected && actions.merge(store.state.selected),
};
addEventListener("keydown", (event) => {
  if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
  draw();
});

store.subscribe(draw);
store.subscribe((state) => state.flow.id && keepPlace(state.flow.id, state.selected));
addEventListener("hashchange", () => location.hash.startsWith("#token=") && link.useToken(takeToken()));
showLook();
speak(language());
const link = new Link(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`, token, {
  onstatus: (status) => store.change("status", { status }),
  onevent: (name, data) => store.change("event", { name, data, now: Date.now() }),
  onready: (hello, resumed) => server.arrive(hello, resumed),
});
