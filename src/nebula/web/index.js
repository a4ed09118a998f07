// Puts the page together: state in the middle, the line to the server on one side, the parts of the page on the other.
//
// Each feature has a folder with its actions, its keys and what it draws, and is handed only what it uses. A change of the
// state asks for one drawing before the next frame, and each part is drawn when something it read is another.

import { createAddress, readPlace } from "./app/address.js";
import { createChoosing } from "./app/choosing.js";
import { drawnWhenNeeded } from "./app/drawing.js";
import { createFrame } from "./app/frame.js";
import { pageKeys, sheetKeys } from "./app/keys.js";
import { createLooking } from "./app/looking.js";
import { createNotifier } from "./app/notify.js";
import { createPace } from "./app/pace.js";
import { createPanels } from "./app/panels.js";
import * as preferences from "./app/preferences.js";
import { createRemembering } from "./app/remembering.js";
import { createStore } from "./app/store.js";
import { createTooltip } from "./app/tooltip.js";
import { createBackstage } from "./backstage/backstage.js";
import { commandFor, inGroup, possible } from "./commands.js";
import { createComposing } from "./composer/actions.js";
import { createComposer } from "./composer/composer.js";
import { composerKeys } from "./composer/keys.js";
import { createDialogs } from "./dialogs/dialogs.js";
import { createFigureActions } from "./figures/actions.js";
import { createFileActions } from "./files/actions.js";
import { fileKeys } from "./files/keys.js";
import { createEdits } from "./graph/edits.js";
import { createGraph } from "./graph/graph.js";
import { createHandles } from "./graph/handles.js";
import { flowKeys, pictureKeys } from "./graph/keys.js";
import { createHeader } from "./header/header.js";
import { afterFrame, isTyping, onNextFrame } from "./lib/dom.js";
import { speaker } from "./lib/words.js";
import { link, listen, place as first } from "./line.js";
import { outlineKeys } from "./outline/keys.js";
import { createOutline } from "./outline/outline.js";
import { createSearching } from "./outline/searching.js";
import { createSummaries } from "./outline/summaries.js";
import { createPermissionActions, placeOf } from "./permissions/actions.js";
import { createRaceActions } from "./race/actions.js";
import { raceKeys } from "./race/keys.js";
import { createAsking } from "./server/asking.js";
import { createLoading } from "./server/loading.js";
import { createStage } from "./stage/stage.js";
import { continuing, isBusy, writes } from "./state/here.js";
import { reduce } from "./state/reduce.js";
import { createSelectors, different, remembered } from "./state/selectors.js";
import { EMPTY } from "./state/state.js";
import { createTurnActions } from "./transcript/actions.js";
import { questionKeys, turnKeys } from "./transcript/keys.js";
import { createTranscript } from "./transcript/transcript.js";

const REST_MS = 150;
const BEGIN_WITHIN_MS = 100;

/** @type {(id: string) => any} Each is there: index.html says so. */
const find = (id) => document.getElementById(id);

const lost = preferences.attachedBefore().filter((each) => typeof each === "string");
const store = createStore(reduce, preferences.rememberedState(EMPTY, first.flow));
const selectors = createSelectors();
const pace = createPace(REST_MS);
const speaking = remembered(speaker);
const say = () => speaking(store.state.view.lang);

// What can be done, by feature.
const asking = createAsking(store, link, say);
const loading = createLoading(store, asking);
const looking = createLooking(store, asking, () => drawNow());
const choosing = createChoosing(store, selectors, pace);
const composing = createComposing(store, asking);
const turns = createTurnActions(store, asking, choosing, composing, focusPrompt);
const edits = createEdits(store, asking);
const figures = createFigureActions(store, asking);
const races = createRaceActions(store, asking, choosing, selectors, say);
const files = createFileActions(store, asking, choosing, races.take, say);
const searching = createSearching(store, asking, choosing.step);
const summaries = createSummaries(store, asking);
const permissions = createPermissionActions(store, asking, looking);

// What is seen, by feature.
const start = () => {
  store.change("select", { id: null, tab: "talk" });
  focusPrompt();
};
const outline = createOutline(find("outline"), { choosing, searching, summaries, loading, selectors, start }, store);
const handles = createHandles(store, asking, choosing, turns, files, loading.chooseFlow, focusPrompt);
const graph = createGraph(
  find("graph"),
  { choosing, looking, edits, composing, asking, loading, selectors, handles },
  store,
  say(),
);
const stage = createStage(find("stage"), choosing);
const operations = () =>
  possible(commands, store.state).map(({ name, keys, run }) => ({ name, keys, act: () => run(store.state) }));
const reading = { turns, edits, files, choosing, operations };
const transcript = createTranscript(find("transcript"), reading, loading, selectors, stage.working);
const composer = createComposer(
  find("composer"),
  { composing, choosing, looking, files, permissions, races, turns, loading, start },
  store,
);
const commands = [
  ...inGroup("conversation", [
    ...questionKeys(transcript.answer),
    ...composerKeys(composing, permissions, focusPrompt, start),
    ...turnKeys(turns, () => shown("talk", transcript.focusTags)),
    ...fileKeys(files),
    ...raceKeys(races, () => composer.race()),
  ]),
  ...inGroup("graph", flowKeys(choosing, edits, looking, selectors, loading.chooseFlow)),
  ...inGroup(
    "outline",
    outlineKeys(searching, summaries, {
      focusSearch: () => shown("outline", outline.focusSearch),
      clearSearch: outline.clearSearch,
    }),
  ),
  ...inGroup("graph", pictureKeys(graph, looking, selectors)),
  ...sheetKeys(looking),
  ...pageKeys(looking, figures),
];
const asked = { looking, choosing, edits, files, figures, permissions, races, searching, summaries };
const sheets = { ...asked, loading, selectors, commands, write: focusPrompt };
// Drawn in this order: the graph, which measures its panel at first, after what else stands around it, so that the page is laid
// out once; the transcript after the parts below it, whose height changes its own, so that it keeps its place.
const before = [
  createFrame(document, asking, selectors),
  createHeader(find("header"), find("tabs"), looking, loading, figures, selectors, operations),
  outline,
  stage,
  composer,
  graph,
].map(drawnWhenNeeded);
const drawTranscript = drawnWhenNeeded(transcript);
const after = [
  createBackstage(find("backstage"), looking),
  createDialogs(find("dialog"), sheets, store, () => drawNow()),
  createPanels(find("main"), looking, store),
  createNotifier(),
].map(drawnWhenNeeded);

let rest = 0;
function drawNow() {
  const held = document.activeElement;
  const goes = held?.closest(".question, #banner"); // what may be gone when this is drawn
  const { state } = store;
  const words = say();
  for (const part of before) part(state, words);
  // Whom the reader only passes by is not laid out at all.
  clearTimeout(rest);
  if (pace.isPassing) rest = window.setTimeout(draw, REST_MS);
  else drawTranscript(state, words);
  for (const part of after) part(state, words);
  if (state.outdated && state.status === "open") loading.refresh();
  // An answered question takes the focus along: who has no pointer goes on where the next prompt is written.
  if (goes && !held?.isConnected && document.activeElement === document.body)
    (goes.id ? find("transcript") : composer).focus();
}
const draw = onNextFrame(() => begun && drawNow());
// Mostly the flow is there before an empty page could be seen: that one is not drawn then.
let begun = false;
function begin() {
  begun = true;
  drawNow();
  if (!store.state.view.seen) afterFrame(() => looking.look({ seen: true }));
  afterFrame(() => list(store.state));
}
setTimeout(() => begun || begin(), BEGIN_WITHIN_MS);

function focusPrompt() {
  shown("talk", () => composer.focus());
}

// What is on another tab can have the focus only once it is drawn.
/** @param {string} tab @param {() => void} then */
function shown(tab, then) {
  looking.look({ tab });
  pace.rest();
  drawNow();
  then();
}

addEventListener("keydown", (event) => {
  if (isTyping(event.target) && !(event.ctrlKey && event.key === "k")) return;
  if (event.defaultPrevented || store.state.view.dialog) return;
  const command = commandFor(commands, event, store.state);
  if (!command) return;
  event.preventDefault();
  command.run(store.state, event.key);
  drawNow(); // what is typed next belongs to what it opened
});
addEventListener("hashchange", () => location.hash.startsWith("#token=") && link.useToken(preferences.takeToken()));
addEventListener("popstate", () => {
  const { flow, node, figures: days = null } = readPlace(location.search);
  if (days !== null) figures.showFigures(days);
  else if (store.state.view.dialog === "figures") looking.look({ dialog: "" });
  if (flow && flow !== store.state.flow.name && flow !== store.state.flow.id) loading.chooseFlow(flow, node);
  else choosing.select(node);
});

createTooltip(find("tooltip"));
const remembering = createRemembering(createAddress(), pace);
store.subscribe(draw);
// While the first titles are on their way: what is worked out of the flow is at hand when they are there.
store.subscribe((state) => begun || (selectors.rows(state), selectors.layout(state)));
store.subscribe((state) => begun && remembering.keep(state)); // the browser is slow to keep anything
// While it is open, the preview says what would be sent now.
const inputsChanged = different();
store.subscribe((state) => {
  const changed = inputsChanged(continuing(state).join(), state.composing, state.view.mode, state.status);
  if (changed && state.preview && state.status === "open") composing.preview(composer.prompt());
});
// What goes without asking is another list at another place; those that the reader passes by are not asked about.
const isElsewhere = different();
let listing = 0;
/** @param {import("./state/state.js").State} state */
function list(state) {
  const moved = isElsewhere(placeOf(state), isBusy(state), state.status, state.modes);
  if (!moved || state.status !== "open" || !writes(state)) return;
  clearTimeout(listing);
  listing = window.setTimeout(permissions.load, REST_MS);
}
store.subscribe((state) => begun && list(state)); // the first titles do not wait for it
listen({
  onstatus: (status) => store.change("status", { status }),
  onevents: (events) => {
    store.change("events", { events, now: Date.now() });
    if (events.some(({ name }) => name === "permissions_changed")) permissions.load();
  },
  async onready(hello, resumed) {
    afterFrame(() => link.open());
    await loading.arrive(hello, resumed, first.node);
    begin(); // titles are asked for now, not with the next frame
    if (resumed) return; // the reader is where they were
    if (!remembering.arrived && (first.figures ?? null) !== null) await figures.showFigures(first.figures ?? 0);
    if (!remembering.arrived && lost.length) asking.tell("attach_lost", { name: lost.join(", ") });
    remembering.arrived = true;
    afterFrame(() => remembering.keep(store.state));
  },
});
