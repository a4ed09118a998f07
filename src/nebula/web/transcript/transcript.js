// What was said on the way to the selected node, and the turn that is under way behind it.
//
// A row is redrawn only where its own turn changed, so a selection of text stays. The reader is taken to the beginning of
// what they chose or sent, never past it, and is left alone once they scroll.

import { decided, meanwhile } from "../backstage/tool_log.js";
import { element } from "../lib/dom.js";
import { linkOfWord } from "../lib/editor_link.js";
import { guard, html, nothing, render, repeat } from "../lib/lit.js";
import { turnHere } from "../state/here.js";
import { begin, isOver, LOST } from "../state/turn.js";
import { question } from "./question.js";
import { acts, answerOf, attachments, copyButton, facts, fork, plain, said, spoken } from "./turn_parts.js";

/** @import { Labels } from "../lib/markdown.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Loading } from "../server/loading.js" */
/** @import { Selectors } from "../state/selectors.js" */
/** @import { State } from "../state/state.js" */
/** @import { Topology } from "../state/topology.js" */
/** @import { Turn } from "../state/turn.js" */
/** @import { ReadingActions } from "./turn_parts.js" */
/** @typedef {{ more: number, selected: string | null | undefined, turn: string | null, asked: string, wanted: string | null, settled: number }} Aim */

const TURNS_AT_FIRST = 12;
const MARGIN = 12;
const LIVE = "live";
const SCROLLING = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "]);

/**
 * @param {HTMLElement} root
 * @param {ReadingActions} actions
 * @param {Loading} loading
 * @param {Selectors} selectors
 */
export function createTranscript(root, actions, loading, selectors) {
  /** @type {Aim} */
  const view = { more: 0, selected: undefined, turn: null, asked: "", wanted: null, settled: 0 };
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
    loading.bodies([...shown, ...(turn?.nodeId ? [turn.nodeId] : [])].filter((id) => !state.bodies.has(id)));
    const earlier = path.length - shown.length;
    const showMore = () => {
      view.more += 50;
      draw(state, say);
    };
    const link = (/** @type {string} */ word) => linkOfWord(state.project, word);
    const ticks = { done: say("task_done"), todo: say("task_todo") };
    const labels = { copy: say("copy"), copied: say("copied"), ...ticks, open: say("open_in_editor_plain"), link };
    const topology = selectors.topology(state);
    const node = (/** @type {string} */ id) => drawNode(state, id, topology, say, labels, actions, loading);
    root.setAttribute("aria-label", say("said_here"));
    render(
      html`${earlier ? html`<button type="button" class="quiet earlier" @click=${showMore}>${say("earlier", { count: earlier })}</button>` : nothing}
        ${repeat(shown, (id) => id, node)}
        ${turn ? live(turn, say, labels, actions) : nothing} ${shown.length || turn ? nothing : empty(state, say)}`,
      turns,
    );
    settle(root, view);
    focusQuestion(root, view, turn);
  }
  return {
    focusTags: () => /** @type {HTMLElement | null} */ (root.querySelector(".selected .acts input"))?.focus(),
    draw,
  };
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

// Not onto "yes": a key meant for the text field must not approve anything.
/** @param {HTMLElement} root @param {Aim} view @param {Turn | null} turn */
function focusQuestion(root, view, turn) {
  const asked = turn?.ask?.approval_id ?? "";
  const found = /** @type {HTMLElement | null} */ (root.querySelector("#question"));
  if (asked && asked !== view.asked) found?.focus({ preventScroll: true });
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

/** @param {State} state @param {Say} say */
function empty({ flow }, say) {
  if (flow.problem)
    return html`<div class="nothing warning" role="alert"><p>${say("unreadable", { problem: flow.problem })}</p><p>${say("unreadable_flow")}</p></div>`;
  if (flow.nodes.length) return html`<p class="nothing">${say("pick")}</p>`;
  return html`<div class="nothing"><p><b>${say("no_nodes")}</b></p><p>${say("teach_1")}</p><p>${say("teach_2")}</p><p>${say("teach_3")}</p></div>`;
}

/** @param {string[]} ids @param {Topology} topology */
const placesOf = (ids, { index }) => ids.flatMap((id) => index.get(id) ?? []);

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
  const above = topology.parents[topology.index.get(id) ?? -1] ?? [];
  const beside = above.length ? topology.children[above[0]] : placesOf(body?.beside ?? [], topology);
  const merged = above.slice(1).map((parent) => topology.ids[parent]);
  loading.briefs(merged.filter((each) => !state.briefs.has(each)));
  const titles = merged.map((each) => state.briefs.get(each)?.title ?? "…");
  const { project } = state;
  return guard([body, title, selected, say, beside.length, titles.join(), project], () => {
    if (!body) return html`<article class="turn waiting" data-id=${id}>${title ?? "…"}</article>`;
    const kind = selected ? "turn selected" : "turn";
    if (body.problem)
      return html`<article class="${kind} warning" data-id=${id}>${say("unreadable", { problem: body.problem })}</article>`;
    const hasFiles = project.root !== "" && (selected || Boolean(body.files?.length));
    return html`<article class=${kind} data-id=${id}>
      ${said("prompt", say("you"), plain(body.prompt))} ${attachments(body)} ${fork(id, topology, beside, say, actions.choosing)}
      ${merged.length ? mergeLine(id, merged, titles, say, actions) : nothing}
      ${meanwhile(body.texts ?? []).map((text) => html`<div class="meanwhile"><p class="hint">${say("said_meanwhile")}</p>${plain(text)}</div>`)}
      ${decided(body.texts ?? []).map((each) => html`<p class="hint decided">${decisionWords(each, say)}</p>`)}
      ${said("response", say("answer"), answerOf(body, body.response, labels), copyButton(body.response, labels))} ${facts(body, say, project, actions.files)} ${acts(body, selected, hasFiles, say, actions)}
    </article>`;
  });
}

/** @param {import("../backstage/tool_log.js").Decision} decision @param {Say} say */
function decisionWords({ about, answer, taken = 0, of }, say) {
  if (of) return say("decided_part", { about, taken, of });
  return answer === "no" ? say("decided_no", { about }) : say("decided_why", { about, answer });
}

/** @param {string} id @param {string[]} merged @param {string[]} titles @param {Say} say @param {ReadingActions} actions */
function mergeLine(id, merged, titles, say, { edits }) {
  const apart = (/** @type {string} */ parent, /** @type {number} */ place) =>
    html`<button type="button" class="quiet" aria-label=${say("take_apart", { title: titles[place] })} @click=${() => edits.disconnect(parent, id)}>×</button>`;
  return html`<p class="merged"><span>⋈ ${say("merges", { titles: titles.join(", ") })}</span>${merged.map(apart)}</p>`;
}

/** @param {Turn} turn @param {Say} say @param {Labels} labels @param {ReadingActions} actions */
function live(turn, say, labels, { turns }) {
  const waits = html`<div class="meanwhile unheard" role="status"><p class="hint">${say("steer_waits")}</p>${turn.waiting.map((each) => plain(each.text))}</div>`;
  return html`<article class="turn live" aria-live="polite">
    ${said("prompt", say("you"), plain(turn.prompt))}
    ${turn.said.map((part, place) => spoken(part, turn.said[place - 1], say, labels))}
    ${turn.waiting.length ? waits : nothing}
    ${turn.remarks.map((text) => html`<p class="remark">${text}</p>`)}
    ${turn.status === LOST ? html`<p class="remark">${say("turn_lost")}</p>` : nothing}
    ${turn.ask ? question(turn.ask, turn.traceId, say, turns) : nothing}
    ${turn.line ? html`<footer><p class="facts">${turn.line}</p></footer>` : nothing}
  </article>`;
}
