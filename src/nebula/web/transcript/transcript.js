// What was said on the way to the selected node, and the turn that is under way behind it.
//
// A row is redrawn only where its own turn changed, so a selection of text stays. The reader is taken to the beginning of
// what they chose or sent, never past it, and is left alone once they scroll.

import { decided, meanwhile, stepsOf } from "../backstage/tool_log.js";
import { nameOfFlow } from "../graph/picture/scene.js";
import { element } from "../lib/dom.js";
import { icon, iconButton } from "../lib/icon.js";
import { linkOfWord } from "../lib/editor_link.js";
import { guard, html, nothing, render, repeat } from "../lib/lit.js";
import { turnHere } from "../state/here.js";
import { siblingsOf } from "../state/topology.js";
import { begin, hasFailed, isOver, LOST } from "../state/turn.js";
import { acts } from "./acts.js";
import { checklist } from "./checklist.js";
import { correcting } from "./correcting.js";
import { decisionLine } from "./decisions.js";
import { firstView } from "./first_view.js";
import { question } from "./question.js";
import { answerOf, attachments, changedFiles, fork, opening, plain, said, slip, spoken } from "./turn_parts.js";

/** @import { Labels } from "../lib/markdown.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Loading } from "../server/loading.js" */
/** @import { Selectors } from "../state/selectors.js" */
/** @import { State } from "../state/state.js" */
/** @import { Topology } from "../state/topology.js" */
/** @import { Turn } from "../state/turn.js" */
/** @import { ReadingActions } from "./turn_parts.js" */
/** @typedef {{ more: number, selected: string | null | undefined, turn: string | null, asked: string, askedAt: number, wanted: string | null, settled: number, counted: string | null, editing: string }} Aim */

const TURNS_AT_FIRST = 12;
const MARGIN = 12;
const LIVE = "live";
const ANSWER_AFTER_MS = 600;
const SCROLLING = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "]);

/**
 * @param {HTMLElement} root
 * @param {ReadingActions} actions
 * @param {Loading} loading
 * @param {Selectors} selectors
 * @param {HTMLElement} working What says that work goes on: it stands where the answer will be.
 */
export function createTranscript(root, actions, loading, selectors, working) {
  /** @type {Aim} */
  const view = {
    more: 0,
    selected: undefined,
    turn: null,
    asked: "",
    askedAt: 0,
    wanted: null,
    settled: 0,
    counted: null,
    editing: "",
  };
  // Bodies and their Markdown come later: what the reader was taken to must not slip away below them.
  const turns = root.appendChild(element("div", { class: "turns" }));
  new ResizeObserver(() => settle(root, view)).observe(turns);
  const letGo = () => (view.wanted = null);
  root.addEventListener("scroll", () => Math.abs(root.scrollTop - view.settled) > 2 && letGo(), { passive: true });
  // Of a scroll the browser tells late: a drawing may come before. The hand that scrolls is known at once.
  root.addEventListener("wheel", letGo, { passive: true });
  root.addEventListener("touchmove", letGo, { passive: true });
  root.addEventListener("keydown", (event) => SCROLLING.has(event.key) && letGo());

  /** @param {State} state @param {Say} say */
  function draw(state, say) {
    const turn = liveTurn(state);
    aim(view, state, turn);
    const path = selectors.path(state).filter((id) => id !== turn?.nodeId);
    const shown = path.slice(-(TURNS_AT_FIRST + view.more));
    loading.bodies([...shown, ...(turn?.nodeId ? [turn.nodeId] : [])]);
    const earlier = path.length - shown.length;
    const showMore = () => {
      view.more += 50;
      draw(state, say);
    };
    const link = (/** @type {string} */ word) => linkOfWord(state.project, word);
    const ticks = { done: say("task_done"), todo: say("task_todo") };
    const drawing = { draw: say("draw"), source: say("source") };
    const labels = {
      copy: say("copy"),
      copied: say("copied"),
      ...ticks,
      ...drawing,
      open: say("open_in_editor_plain"),
      link,
    };
    const topology = selectors.topology(state);
    const node = (/** @type {string} */ id) => drawNode(state, id, topology, say, labels, actions, loading);
    root.setAttribute("aria-label", say("said_here"));
    render(
      html`${earlier ? html`<button type="button" class="quiet earlier" @click=${showMore}>${say("earlier", { count: earlier })}</button>` : nothing}
        ${repeat(shown, (id) => id, node)}
        ${turn ? live(turn, say, labels, actions, working) : nothing} ${shown.length || turn ? nothing : empty(state, topology, say, actions, loading)}`,
      turns,
    );
    settle(root, view);
    focusFields(root, view, state);
    focusQuestion(root, view, turn);
    count(state, view, actions);
  }
  return {
    /** @param {string} act To the question before the reader: `agree`, `refuse`, or the number of a change. */
    answer(act) {
      if (performance.now() - view.askedAt < ANSWER_AFTER_MS) return; // the key was meant for something else
      const asked = root.querySelector('.question:not([aria-busy="true"])');
      const found = act === "agree" ? ".agree" : act === "refuse" ? ".no" : "";
      const ticks = asked?.querySelectorAll('input[type="checkbox"]');
      const target = found ? asked?.querySelector(found) : ticks?.[Number(act) - 1];
      /** @type {HTMLElement | null | undefined} */ (target)?.click();
    },
    focusTags: () => /** @type {HTMLElement | null} */ (root.querySelector(".selected .tags input"))?.focus(),
    draw,
  };
}

// How many lines of a turn are left is asked each time that it is chosen, and not before it is drawn.
/** @param {State} state @param {Aim} view @param {Pick<ReadingActions, "files">} actions */
function count({ selected, bodies, project }, view, { files }) {
  const body = selected === null ? undefined : bodies.get(selected);
  if (view.counted === selected || (selected !== null && !body)) return;
  view.counted = selected;
  if (selected !== null && body?.files?.length && project.root) files.countLines(selected);
}

// Where the reader should be taken: to the turn they chose, or to the one that has just begun.
/** @param {Aim} view @param {State} state @param {Turn | null} turn */
function aim(view, state, turn) {
  if (view.selected !== state.selected) {
    const became = view.turn !== null && state.selected === state.turns.get(view.turn)?.nodeId; // the turn they were watching
    if (!became) Object.assign(view, { more: 0, wanted: state.selected });
    else if (view.wanted === LIVE) view.wanted = state.selected;
  }
  const sent = turn !== null && (state.sending !== null || state.sent.has(turn.traceId));
  if (turn && turn.traceId !== view.turn && sent) view.wanted = LIVE;
  if (turn?.ask && turn.ask.approval_id !== view.asked) view.wanted = LIVE;
  Object.assign(view, { selected: state.selected, turn: turn?.traceId ?? view.turn });
}

/** @param {HTMLElement} root @param {Aim} view */
function settle(root, view) {
  if (view.wanted === null) return;
  const wanted = view.wanted === LIVE ? ".live" : `[data-id="${CSS.escape(view.wanted)}"]`;
  const found = /** @type {HTMLElement | null} */ (root.querySelector(wanted) ?? root.querySelector(".live"));
  if (!found) return;
  const ask = /** @type {HTMLElement | null} */ (found.querySelector(".question"));
  const lowest = ask ? ask.offsetTop + ask.offsetHeight + MARGIN - root.clientHeight : 0; // a question is seen, whatever was said before
  root.scrollTop = Math.max(found.offsetTop - MARGIN, lowest);
  view.settled = root.scrollTop;
}

// What is typed next is meant for the turn that is corrected, and afterwards the keys are the conversation's.
/** @param {HTMLElement} root @param {Aim} view @param {State} state */
function focusFields(root, view, { view: { editing } }) {
  if (editing === view.editing) return;
  view.editing = editing;
  const first = /** @type {HTMLElement | null} */ (root.querySelector(".correcting textarea"));
  const isLost = document.activeElement === document.body;
  if (editing || isLost) (first ?? root).focus({ preventScroll: true });
}

// Not onto "yes": a key meant for the text field must not approve anything.
/** @param {HTMLElement} root @param {Aim} view @param {Turn | null} turn */
function focusQuestion(root, view, turn) {
  const asked = turn?.ask?.approval_id ?? "";
  const found = /** @type {HTMLElement | null} */ (root.querySelector("#question"));
  if (asked && asked !== view.asked) {
    view.askedAt = performance.now();
    const writing = document.activeElement instanceof HTMLTextAreaElement && document.activeElement.value;
    if (!writing) found?.focus({ preventScroll: true });
  }
  view.asked = asked;
}

// A prompt is shown as soon as it is sent, a turn where it continues, until its node can be.
/** @param {State} state */
function liveTurn(state) {
  if (state.sending) return begin({ trace_id: "", ...state.sending }, 0);
  const turn = turnHere(state);
  const gone = turn?.nodeId && (turn.nodeId !== state.selected || state.bodies.has(turn.nodeId));
  return turn && isOver(turn) && gone ? null : turn;
}

/** @param {State} state @param {Topology} topology @param {Say} say @param {ReadingActions} actions @param {Loading} loading */
function empty(state, topology, say, { choosing, turns }, loading) {
  const { problem } = state.flow;
  if (problem)
    return html`<div class="nothing warning" role="alert"><p>${say("unreadable", { problem })}</p><p>${say("unreadable_flow")}</p></div>`;
  return firstView(state, topology, say, { choosing, suggest: turns.suggest }, loading);
}

/**
 * @param {State} state
 * @param {string} id
 * @param {Topology} topology
 * @param {Say} say
 * @param {Labels} labels
 * @param {ReadingActions} actions
 * @param {Loading} loading
 */
function drawNode(state, id, topology, say, labels, actions, loading) {
  const body = state.bodies.get(id);
  const title = state.briefs.get(id)?.title;
  const selected = id === state.selected;
  const place = topology.index.get(id) ?? -1;
  const above = topology.parents[place] ?? [];
  const beside = siblingsOf(topology, place);
  const merged = above.slice(1).map((parent) => topology.ids[parent]);
  loading.briefs(merged.filter((each) => !state.briefs.has(each)));
  const titles = merged.map((each) => state.briefs.get(each)?.title ?? "…");
  const { project } = state;
  const alive = state.alive?.nodeId === id ? state.alive : null;
  const edited = selected && state.view.editing === id;
  const opens = selected ? nameOfFlow(state, state.flow.opens?.[id]) : "";
  return guard([body, title, selected, edited, opens, say, beside.length, titles.join(), project, alive], () => {
    if (!body) return html`<article class="turn waiting" data-id=${id}>${title ?? "…"}</article>`;
    const kind = selected ? "turn selected" : "turn";
    if (body.problem)
      return html`<article class="${kind} warning" data-id=${id}>${say("unreadable", { problem: body.problem })}</article>`;
    if (edited) return html`<article class=${kind} data-id=${id}>${correcting(body, say, actions.edits)}</article>`;
    const hasFiles = project.root !== "" && (selected || Boolean(body.files?.length));
    return html`<article class=${kind} data-id=${id}>
      ${said("prompt", say("you"), plain(body.prompt))} ${attachments(body)} ${fork(id, topology, beside, say, actions.choosing)}
      ${merged.length ? mergeLine(id, merged, titles, say, actions) : nothing}
      ${meanwhile(body.texts ?? []).map((text) => html`<div class="meanwhile"><p class="hint">${say("said_meanwhile")}</p>${plain(text)}</div>`)}
      ${checklist(stepsOf(body.texts ?? []), say)}
      ${said("response", say("answer"), answerOf(body, body.response, labels))}
      ${decided(body.texts ?? []).map((each) => decisionLine(each, say))}
      ${changedFiles(body, say, project, alive, actions.files)}
      ${body.summary ? html`<p class="summary"><b>${say("summary")}</b> ${body.summary}</p>` : nothing}
      ${opens ? opening(opens, say, actions) : nothing} ${slip(body, selected, say, actions)}
      ${acts(body, hasFiles, say, labels, actions, selected)}
    </article>`;
  });
}

/** @param {string} id @param {string[]} merged @param {string[]} titles @param {Say} say @param {ReadingActions} actions */
function mergeLine(id, merged, titles, say, { edits }) {
  const apart = (/** @type {string} */ parent, /** @type {number} */ place) =>
    iconButton("unlink", say("take_apart", { title: titles[place] }), () => edits.disconnect(parent, id));
  return html`<p class="merged">${icon("git-merge")}<span>${say("merges", { titles: titles.join(", ") })}</span>${merged.map(apart)}</p>`;
}

// A question that comes right after another has ticks and a field of its own.
/** @param {{ approval_id?: string }} ask */
const keyOf = (ask) => ask.approval_id;

/** @param {Turn} turn @param {Say} say @param {Labels} labels @param {ReadingActions} actions @param {HTMLElement} working */
function live(turn, say, labels, { turns }, working) {
  const waits = html`<div class="meanwhile unheard" role="status"><p class="hint">${say("steer_waits")}</p>${turn.waiting.map((each) => plain(each.text))}</div>`;
  const failed = hasFailed(turn);
  const remark = (/** @type {string} */ text) =>
    html`<p class="remark ${failed ? "failed" : ""}">${failed ? icon("circle-alert") : nothing}<span>${text}</span></p>`;
  // Below what has come since stands another line: the one above does not slide down past that.
  const works = () => html`<div aria-live="off">${working}</div>`;
  return html`<article class="turn live" aria-live="polite">
    ${said("prompt", say("you"), plain(turn.prompt))}
    ${turn.said.map((part, place) => spoken(part, turn.said[place - 1], say, labels))}
    ${turn.waiting.length ? waits : nothing}
    ${turn.remarks.map(remark)} ${turn.status === LOST ? remark(say("turn_lost")) : nothing}
    ${checklist(turn.steps, say)}
    ${repeat(turn.ask ? [turn.ask] : [], keyOf, (ask) => question(ask, turn.traceId, say, turns))}
    ${turn.line && (!failed || turn.said.length) ? html`<p class="acts"><span class="facts">${turn.line}</span></p>` : nothing}
    ${repeat(isOver(turn) || turn.ask ? [] : [turn.said.length], String, works)}
  </article>`;
}
