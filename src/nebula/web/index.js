// Puts the page together: state in the middle, the line to the server on one side, the components on the other.
//
// A change of the state asks for one drawing before the next frame; selectors work out what each component shows, and the
// components redraw what differs.

import { createBackstage } from "./backstage/backstage.js";
import { commandFor } from "./commands.js";
import { createComposer } from "./composer/composer.js";
import { createDialogs } from "./dialogs/dialogs.js";
import { createGraph } from "./graph/graph.js";
import { createHeader } from "./header/header.js";
import { createAddress, readPlace } from "./lib/address.js";
import { isTyping, onNextFrame } from "./lib/dom.js";
import { html, nothing, render } from "./lib/lit.js";
import { agreed, createNotifier } from "./lib/notify.js";
import { createPace } from "./lib/pace.js";
import { createPanels } from "./lib/panels.js";
import * as preferences from "./lib/preferences.js";
import { createServerActions } from "./lib/server_actions.js";
import { createStore } from "./lib/store.js";
import { speaker } from "./lib/words.js";
import { link, listen, place as first } from "./line.js";
import { createOutline } from "./outline/outline.js";
import { createStage } from "./stage/stage.js";
import { againWith } from "./state/composing.js";
import { continuing, EMPTY, reduce } from "./state/reduce.js";
import { createSelectors, different, remembered } from "./state/selectors.js";
import { isOver } from "./state/turn.js";
import { createTranscript } from "./transcript/transcript.js";

const REST_MS = 150;
const BEGIN_WITHIN_MS = 100;

/** @param {string} id @returns {any} */
const find = (id) => document.getElementById(id);
/** @param {string} selector @returns {NodeListOf<HTMLElement>} */
const findAll = (selector) => document.querySelectorAll(selector);

const start = {
  ...EMPTY,
  flowId: first.flow ?? EMPTY.flowId,
  composing: { ...EMPTY.composing, model: preferences.model() },
};
const { language, theme, mode, notify, parts, panels: widths } = preferences;
const remember = { lang: language(), theme: theme(), mode: mode(), notify: notify(), panels: widths(), ...parts() };
const store = createStore(reduce, { ...start, view: { ...EMPTY.view, ...remember } });
const address = createAddress();
const pace = createPace(REST_MS);
const selectors = createSelectors();
const speaking = remembered(speaker);
const say = () => speaking(store.state.view.lang);
const server = createServerActions(store, () => link, say);

/** What components and commands may do. */
const page = {
  ...server,
  get state() {
    return store.state;
  },
  get say() {
    return say();
  },
  get topology() {
    return selectors.topology(store.state);
  },
  get graph() {
    return graph;
  },
  look: (to) => store.change("view", { to }),
  redraw() {
    asked = true;
    draw();
  },
  drawNow: () => drawNow(),
  select: (id) => store.change("select", { id }),
  // One of many steps, perhaps: by a key that is held down.
  step(id) {
    pace.step();
    store.change("select", { id });
  },
  open: (id) => store.change("open", { id, tab: "talk" }), // where there is room for one part only, the turn itself
  fold: (id, folded) => store.change("fold", { id, folded }),
  merge: (id) => store.change("merge", { id }),
  unmerge: (id) => store.change("unmerge", { id }),
  unmergeAll: () => store.state.merging.forEach((id) => store.change("unmerge", { id })),
  toggle: (id) => store.change("toggle", { id }),
  // What goes along with the next prompt.
  refer: (id) => store.change("refer", { id }),
  unrefer: (id) => store.change("unrefer", { id }),
  referInstead(id) {
    store.change("unmerge", { id });
    store.change("refer", { id });
  },
  leaveOut: (id) => store.change(store.state.composing.references.includes(id) ? "unrefer" : "leave_out", { id }),
  takeIn: (id) => store.change("take_in", { id }),
  attach: (attached) => store.change("attach", { attached }),
  detach: (place) => store.change("detach", { place }),
  chooseModel(model) {
    preferences.keepModel(model);
    store.change("model", { model });
  },
  async toggleNotify() {
    const wanted = !store.state.view.notify && (await agreed());
    preferences.keepNotify(wanted);
    page.look({ notify: wanted });
    if (!wanted && Notification.permission === "denied") page.tell("notify_denied");
  },
  stepHits: (step) => {
    const hits = store.state.search.hits ?? [];
    const at = hits.indexOf(store.state.selected ?? "");
    if (hits.length)
      page.step(hits[at < 0 ? (step > 0 ? 0 : hits.length - 1) : (at + step + hits.length) % hits.length]);
  },
  clearSearch() {
    outline.clearSearch();
    return server.search("", {});
  },
  toggleFilters() {
    page.look({ filters: !store.state.view.filters, tab: "outline" });
    if (store.state.view.filters) server.loadFilters();
  },
  async removeAll(ids) {
    for (const id of ids) if (!(await server.remove(id))) return;
  },
  takenBack: () => store.change("taken_back"),
  start() {
    store.change("select", { id: null, tab: "talk" });
    page.focusPrompt();
  },
  get mode() {
    return store.state.modes.includes("chat") ? "" : store.state.view.mode;
  },
  preview: (prompt) => server.preview(prompt, page.mode, continuing(store.state)),
  send: (prompt, from = continuing(store.state)) => server.send(prompt, page.mode, from),
  // Both make a turn beside this one: it stays as it is.
  retry(id) {
    const body = store.state.bodies.get(id);
    if (!body?.prompt) return;
    const parents = page.parentsOf(id);
    page.goTo(parents);
    server.send(body.prompt, page.mode, parents, againWith(store.state.composing, body));
  },
  edit(id) {
    const prompt = store.state.bodies.get(id)?.prompt;
    if (!prompt) return;
    page.goTo(page.parentsOf(id));
    store.change("edit", { prompt });
    page.focusPrompt();
  },
  parentsOf(id) {
    const { ids, index, parents } = page.topology;
    return (parents[index.get(id) ?? -1] ?? []).map((place) => ids[place]);
  },
  goTo(ids) {
    store.change("select", { id: ids[0] ?? null, tab: "talk" });
    for (const id of ids.slice(1)) store.change("merge", { id });
  },
  switchMode: () => page.look({ mode: store.state.view.mode === "plan" ? "agent" : "plan" }),
  focusPrompt: () => shown("talk", () => composer.focus()),
  focusTags: () => shown("talk", () => transcript.focusTags()),
  focusSearch: () => shown("outline", () => outline.focusSearch()),
  nextTheme() {
    page.look({ theme: preferences.nextTheme() });
    drawNow(); // no frame in the old colours
  },
  nextLanguage() {
    const lang = store.state.view.lang === "ja" ? "en" : "ja";
    preferences.chooseLanguage(lang);
    page.look({ lang });
  },
};

// What is on another tab can have the focus only once it is drawn.
function shown(tab, then) {
  page.look({ tab });
  asked = true;
  drawNow();
  then();
}

const header = createHeader(find("header"), page);
const outline = createOutline(find("outline"), page);
const graph = createGraph(find("graph"), page);
const transcript = createTranscript(find("transcript"), page);
const stage = createStage(find("stage"), page);
const composer = createComposer(find("composer"), page);
const backstage = createBackstage(find("backstage"), page);
const dialogs = createDialogs(find("dialog"), page);
const panels = createPanels(find("main"), page);
const tellNews = createNotifier();

const pathSet = remembered((path) => new Set(path));
const changed = {
  frame: different(),
  header: different(),
  outline: different(),
  graph: different(),
  stage: different(),
  composer: different(),
  transcript: different(),
  backstage: different(),
  dialogs: different(),
  panels: different(),
  news: different(),
};
let rest = 0;
let asked = false; // to draw although the state is as it was

function drawNow() {
  const held = document.activeElement;
  drawChanged();
  // An answered question takes the focus along: who has no pointer goes on where the next prompt is written.
  if (held?.closest(".question") && !held.isConnected && document.activeElement === document.body) composer.focus();
}

function drawChanged() {
  const { state } = store;
  const words = say();
  const { view, briefs, bodies, selected, merging, turns, flow } = state;
  const [topology, path, rows] = [selectors.topology(state), selectors.path(state), selectors.rows(state)];
  const [layout, hits] = [selectors.layout(state), selectors.hits(state)];
  const again = asked;
  asked = false;
  if (
    changed.frame(words, view.theme, view.tab, view.graph, view.drawer, state.status, state.notice, state.offer, turns)
  )
    drawFrame(state, words);
  if (changed.header(words, state.flows, flow, view.theme, view.tab, view.graph, view.drawer))
    header.draw(state, words);
  if (
    changed.outline(
      words,
      rows,
      briefs,
      selected,
      merging,
      state.search,
      state.choices,
      view.filters,
      flow,
      state.building,
    )
  )
    outline.draw(state, words, rows, selectors.placeOfRow(state));
  if (changed.graph(words, layout, path, hits, view, briefs, selected, merging))
    graph.draw(state, words, { topology, layout, pathSet: pathSet(path), hits });
  if (changed.stage(words, turns, flow, selected, merging, view.notify)) stage.draw(state, words);
  if (
    changed.composer(
      words,
      state.status,
      state.modes,
      view.mode,
      state.project,
      state.models,
      state.composing,
      state.preview,
      state.returned,
      briefs,
      selected,
      merging,
      state.joining,
      turns,
      flow,
    )
  )
    composer.draw(state, words);
  // After those below it: it keeps its place. Whom the reader only passes by is not laid out at all.
  clearTimeout(rest);
  if (pace.isPassing && !again) rest = setTimeout(page.redraw, REST_MS);
  else if (
    changed.transcript(
      words,
      path,
      topology,
      bodies,
      briefs,
      selected,
      merging,
      turns,
      state.sent,
      flow,
      state.project,
    ) ||
    again
  )
    transcript.draw(state, words, path, topology);
  if (changed.backstage(words, view.drawer, turns, bodies, selected)) backstage.draw(state, words);
  if (changed.dialogs(words, view.dialog) || view.dialog) dialogs.draw(state, words);
  if (changed.panels(view.panels, words, view.graph, view.drawer)) panels.draw(view.panels, words);
  if (changed.news(turns, view.notify, words)) tellNews(turns, view.notify, words);
  if (state.outdated && state.status === "open") server.refresh();
}
const draw = onNextFrame(() => begun && drawNow());
// Mostly the flow is there before an empty page could be seen: that one is not drawn then.
let begun = false;
function begin() {
  begun = true;
  draw();
}

function drawFrame({ view, status, notice, offer, turns }, words) {
  const { body, documentElement: root } = document;
  root.lang = view.lang;
  root.dataset.theme = view.theme;
  body.dataset.tab = view.tab;
  body.classList.toggle("with-graph", view.graph);
  body.classList.toggle("with-backstage", view.drawer);
  for (const each of findAll("[data-word]")) each.textContent = words(each.dataset.word ?? "");
  for (const each of findAll("[data-label]")) each.setAttribute("aria-label", words(each.dataset.label ?? ""));
  const banner = find("banner");
  const text = status === "open" ? notice : words(status);
  const undo =
    status === "open" && offer
      ? html` <button type="button" class="quiet" @click=${() => page.takeUp(offer)}>${words("take_back")}</button>`
      : nothing;
  render(html`<span>${text}</span>${undo}`, banner);
  banner.hidden = text === "";
  banner.className = status === "open" ? "" : "warning";
  const atWork = [...turns.values()].filter((turn) => !isOver(turn));
  const news = atWork.some((turn) => turn.ask) ? words("title_waiting") : atWork.length ? words("title_working") : "";
  document.title = news ? `${news} · nebula` : "nebula";
}

addEventListener("keydown", (event) => {
  if (isTyping(event.target) && !(event.ctrlKey && event.key === "k")) return;
  if (event.defaultPrevented || store.state.view.dialog) return;
  const command = commandFor(event, store.state);
  if (!command) return;
  event.preventDefault();
  command.run(page);
  drawNow(); // what is typed next belongs to what it opened
});
addEventListener("hashchange", () => location.hash.startsWith("#token=") && link.useToken(preferences.takeToken()));
addEventListener("popstate", () => {
  const { flow, node, figures } = readPlace(location.search);
  if (figures !== null) server.showFigures(figures);
  else if (store.state.view.dialog === "figures") page.look({ dialog: "" });
  if (flow && flow !== store.state.flow.name && flow !== store.state.flow.id) server.chooseFlow(flow, node);
  else page.select(node);
});

store.subscribe(draw);
// While the first titles are on their way: what is worked out of the flow is at hand when they are there.
store.subscribe((state) => begun || (selectors.rows(state), selectors.layout(state)));
const rememberNow = () =>
  rememberView(store.state.view.mode, store.state.flow, store.state.selected, figuresOf(store.state), arrived);
store.subscribe(rememberNow);
store.subscribe((state) => previewAgain(continuing(state).join(), state.composing, state.view.mode, state.status));
store.subscribe((state) => keepWidths(state.view.panels));
store.subscribe((state) => keepParts(state.view.graph, state.view.drawer));
const keepWidths = remembered(preferences.keepPanels);
const keepParts = remembered(preferences.keepParts);
const keepMode = remembered(preferences.keepMode);
// While it is open, the preview says what would be sent now.
const inputsChanged = different();
const previewAgain = (...inputs) =>
  inputsChanged(...inputs) && store.state.preview && store.state.status === "open" && page.preview(composer.prompt());
// Which figures the reader has before them, in days.
const figuresOf = ({ view, figures }) => (view.dialog === "figures" ? figures.days : null);
let arrived = false; // where the address says
const rememberView = remembered((chosen, flow, selected, figures, here) => {
  keepMode(chosen);
  if (!here) return;
  if (flow.id) preferences.keepPlace(flow.id, selected);
  address.show({ flow: flow.name, node: selected, figures }, pace.isPassing);
});
setTimeout(begin, BEGIN_WITHIN_MS);
listen({
  onstatus: (status) => store.change("status", { status }),
  onevent: (name, data) => store.change("event", { name, data, now: Date.now() }),
  async onready(hello, resumed) {
    await server.arrive(hello, resumed, first.node);
    begun = true;
    drawNow(); // titles are asked for now, not with the next frame
    if (!arrived && first.figures !== null) await server.showFigures(first.figures);
    arrived = true;
    rememberNow();
  },
});
