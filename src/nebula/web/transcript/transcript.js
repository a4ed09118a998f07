// What was said on the way to the selected node, and the turn that is under way behind it.
//
//   const transcript = createTranscript(root, page);
//   transcript.draw(state, say, path, topology);
//
// A row is redrawn only where its own turn changed, so a selection of text stays. The reader is taken to the beginning of
// what they chose or sent, never past it, and is left alone once they scroll.

import { openLink } from "../dialogs/file_list.js";
import { element } from "../lib/dom.js";
import { linkOfWord } from "../lib/editor_link.js";
import { guard, html, nothing, render, repeat } from "../lib/lit.js";
import { answer, copied } from "../lib/markdown.js";
import { dollars } from "../state/figures.js";
import { turnHere } from "../state/reduce.js";
import { meanwhile } from "../state/tool_log.js";
import { isOver, LOST } from "../state/turn.js";
import { question } from "./question.js";

const TURNS_AT_FIRST = 12;
const MARGIN = 12;
const SCROLLING = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "]);

export function createTranscript(root, page) {
  /** @type {any} */
  const view = { more: 0, selected: undefined, turn: null, asked: "", wanted: null, settled: 0 };
  // Bodies and their Markdown come later: what the reader was taken to must not slip away below them.
  const turns = root.appendChild(element("div", { class: "turns" }));
  new ResizeObserver(() => settle(root, view)).observe(turns);
  root.addEventListener("scroll", () => Math.abs(root.scrollTop - view.settled) > 2 && (view.wanted = null), {
    passive: true,
  });
  // Of a scroll the browser tells late: a drawing may come before. The hand that scrolls is known at once.
  for (const way of ["wheel", "touchmove"]) root.addEventListener(way, () => (view.wanted = null), { passive: true });
  root.addEventListener("keydown", (event) => SCROLLING.has(event.key) && (view.wanted = null));
  return {
    focusTags: () => root.querySelector(".selected .acts input")?.focus(),
    draw(state, say, path, topology) {
      const turn = liveTurn(state);
      aim(view, state, turn);
      const shown = path.slice(-(TURNS_AT_FIRST + view.more));
      page.bodies(shown.filter((id) => !state.bodies.has(id)));
      const earlier = path.length - shown.length;
      const showMore = () => {
        view.more += 50;
        page.redraw();
      };
      const labels = {
        copy: say("copy"),
        copied: say("copied"),
        open: say("open_in_editor_plain"),
        link: (word) => linkOfWord(state.project, word),
      };
      root.setAttribute("aria-label", say("talk"));
      render(
        html`${earlier ? html`<button type="button" class="quiet earlier" @click=${showMore}>${say("earlier", { count: earlier })}</button>` : nothing}
          ${repeat(
            shown,
            (id) => id,
            (id) => node(state, id, topology, say, labels, page),
          )}
          ${turn ? live(turn, say, labels, page) : nothing} ${shown.length || turn ? nothing : empty(state, say)}`,
        turns,
      );
      settle(root, view);
      focusQuestion(root, view, turn);
    },
  };
}

// Where the reader should be taken: to the turn they chose, or to the one that has just begun.
function aim(view, state, turn) {
  if (view.selected !== state.selected) {
    const became = view.turn !== null && state.selected === state.turns.get(view.turn)?.nodeId; // the turn they were watching
    if (!became) Object.assign(view, { more: 0, wanted: state.selected });
    else if (view.wanted === "live") view.wanted = state.selected;
  }
  if (turn && turn.traceId !== view.turn && state.sent.has(turn.traceId)) view.wanted = "live";
  if (turn?.ask && turn.ask.approval_id !== view.asked) view.wanted = "live";
  Object.assign(view, { selected: state.selected, turn: turn?.traceId ?? view.turn });
}

function settle(root, view) {
  if (view.wanted === null) return;
  const found =
    view.wanted === "live" ? root.querySelector(".live") : root.querySelector(`[data-id="${CSS.escape(view.wanted)}"]`);
  if (!found) return;
  const ask = found.querySelector(".question");
  const lowest = ask ? ask.offsetTop + ask.offsetHeight + MARGIN - root.clientHeight : 0; // a question is seen, whatever was said before
  root.scrollTop = Math.max(found.offsetTop - MARGIN, lowest);
  view.settled = root.scrollTop;
}

// Not onto "yes": a key meant for the text field must not approve anything.
function focusQuestion(root, view, turn) {
  const asked = turn?.ask?.approval_id ?? "";
  if (asked && asked !== view.asked) root.querySelector("#question")?.focus({ preventScroll: true });
  view.asked = asked;
}

// A turn is shown where it continues, until its node can be.
function liveTurn(state) {
  const turn = turnHere(state);
  if (turn && isOver(turn) && turn.nodeId && (turn.nodeId !== state.selected || state.bodies.has(turn.nodeId)))
    return null;
  return turn;
}

function empty({ flow }, say) {
  if (flow.problem)
    return html`<div class="nothing warning" role="alert"><p>${say("unreadable", { problem: flow.problem })}</p><p>${say("unreadable_flow")}</p></div>`;
  if (flow.nodes.length) return html`<p class="nothing">${say("pick")}</p>`;
  return html`<div class="nothing"><p><b>${say("no_nodes")}</b></p><p>${say("teach_1")}</p><p>${say("teach_2")}</p><p>${say("teach_3")}</p></div>`;
}

function node(state, id, topology, say, labels, page) {
  const body = state.bodies.get(id);
  const brief = state.briefs.get(id);
  const selected = id === state.selected;
  const place = topology.index.get(id);
  const beside = siblings(topology, place);
  const merged = topology.parents[place].slice(1).map((parent) => topology.ids[parent]);
  page.briefs(merged.filter((each) => !state.briefs.has(each)));
  const titles = merged.map((each) => state.briefs.get(each)?.title ?? "…").join(", ");
  return guard([body, brief?.title, selected, say, beside.length, titles], () => {
    if (!body) return html`<article class="turn waiting" data-id=${id}>${brief?.title ?? "…"}</article>`;
    const kind = selected ? "turn selected" : "turn";
    if (body.problem)
      return html`<article class="${kind} warning" data-id=${id}>${say("unreadable", { problem: body.problem })}</article>`;
    return html`<article class=${kind} data-id=${id}>
      ${said("prompt", say("you"), plain(body.prompt))} ${attachments(body)} ${fork(id, topology, beside, say, page)}
      ${titles ? html`<p class="merged"><span>⋈ ${say("merges", { titles })}</span>${merged.map((parent) => html`<button type="button" class="quiet" aria-label=${say("take_apart", { title: state.briefs.get(parent)?.title ?? "…" })} @click=${() => page.disconnect(parent, id)}>×</button>`)}</p>` : nothing}
      ${meanwhile(body.texts ?? []).map((text) => html`<div class="meanwhile"><p class="hint">${say("said_meanwhile")}</p>${plain(text)}</div>`)}
      ${said("response", say("answer"), answerOf(body, body.response, labels), copyButton(body.response, labels))} ${facts(body, say, state.project)} ${acts(id, body, selected, say, page)}
    </article>`;
  });
}

const IMAGES = new Set(["png", "jpeg", "gif", "webp"]);

// What went along with the prompt: images as they are, texts folded.
function attachments({ attachments: all = [] }) {
  if (!all.length) return nothing;
  const one = ({ name, kind, text, format }) =>
    kind === "image" && text && IMAGES.has(format)
      ? html`<img alt=${name} title=${name} src=${`data:image/${format};base64,${text}`}>`
      : html`<details><summary>${name}</summary><pre tabindex="0">${text}</pre></details>`;
  return html`<div class="attachments">${all.map(one)}</div>`;
}

function siblings(topology, place) {
  const above = topology.parents[place][0];
  return above === undefined ? [] : topology.children[above];
}

// Which of several turns that continue the same one this is, and the way to the others.
function fork(id, topology, beside, say, page) {
  if (beside.length < 2) return nothing;
  const at = beside.indexOf(topology.index.get(id));
  const go = (step) => () => page.select(topology.ids[beside[at + step]]);
  return html`<p class="fork">
    <button type="button" class="quiet" aria-label=${say("previous")} ?disabled=${at === 0} @click=${go(-1)}>‹</button>${say("siblings", { place: at + 1, count: beside.length })}<button type="button" class="quiet" aria-label=${say("next")} ?disabled=${at === beside.length - 1} @click=${go(1)}>›</button>
  </p>`;
}

/** @param {string} kind @param {string} who @param {any} text @param {any} button */
function said(kind, who, text, button = nothing) {
  return html`<div class="speech ${kind}">${who ? html`<h2>${who}${button}</h2>` : nothing}${text}</div>`;
}

// An answer may be given in several rounds: it is headed once.
function spoken(part, before, say, labels) {
  if (!part.act) return said("prompt", say("you"), plain(part.text));
  return said(`response act-${part.act}`, before?.act ? "" : say("answer"), answerOf(part, part.text, labels));
}

function plain(text) {
  return html`<div class="text plain">${text}</div>`;
}

function copyButton(text, labels) {
  return text
    ? html` <button type="button" class="copy" @click=${(event) => copied(event.target, text, labels)}>${labels.copy}</button>`
    : nothing;
}

// The elements of an answer are made once and kept with it.
const made = new WeakMap();
function answerOf(owner, text, labels) {
  const known = made.get(owner);
  if (known?.text === text && known.copy === labels.copy) return known.shown;
  const shown = answer(text, labels);
  made.set(owner, { text, copy: labels.copy, shown });
  return shown;
}

function facts(body, say, project) {
  const parts = [];
  if (body.model) parts.push(body.model);
  if (body.timestamp) parts.push(new Date(body.timestamp).toLocaleString(document.documentElement.lang));
  if (body.usage) parts.push(`↑${body.usage.input} ↓${body.usage.output}`);
  if (body.usage?.cost) parts.push(dollars(body.usage.cost));
  return html`<footer>
    ${body.summary ? html`<p class="summary"><b>${say("summary")}</b> ${body.summary}</p>` : nothing}
    ${body.tags.length ? html`<p class="tags">${body.tags.map((tag) => html`<span class="tag">${tag}</span> `)}</p>` : nothing}
    <p class="facts">${parts.join(" · ")}${(body.files ?? []).map((file) => html` · <span class="file">${file.path} ${openLink(project, file.path, say)}</span>`)}</p>
  </footer>`;
}

// What can be done with a turn.
function acts(id, body, selected, say, page) {
  const save = (event) => {
    event.preventDefault();
    page.tag(
      id,
      event.target.elements.tags.value
        .split(/[,、]/)
        .map((tag) => tag.trim())
        .filter(Boolean),
    );
  };
  return html`<div class="acts">
    <button type="button" class="quiet" @click=${() => page.retry(id)}>${say("retry")}</button>
    <button type="button" class="quiet" @click=${() => page.edit(id)}>${say("edit")}</button>
    ${page.state.project.root && (selected || body.files?.length) ? html`<button type="button" class="quiet files-of" @click=${() => page.lookAtFiles(id)}>${say("files")}</button>` : nothing}
    ${
      selected
        ? html`<button type="button" class="quiet" @click=${() => page.remove(id)}>${say("delete")}</button>
      <form @submit=${save}><input name="tags" type="text" autocomplete="off" placeholder=${say("tags")} aria-label=${say("tags")} .value=${body.tags.join(", ")}><button type="submit" class="quiet">${say("save")}</button></form>`
        : nothing
    }
  </div>`;
}

function live(turn, say, labels, page) {
  return html`<article class="turn live" aria-live="polite">
    ${said("prompt", say("you"), plain(turn.prompt))}
    ${turn.said.map((part, place) => spoken(part, turn.said[place - 1], say, labels))}
    ${turn.waiting.length ? html`<div class="meanwhile unheard" role="status"><p class="hint">${say("steer_waits")}</p>${turn.waiting.map((each) => plain(each.text))}</div>` : nothing}
    ${turn.remarks.map((text) => html`<p class="remark">${text}</p>`)}
    ${turn.status === LOST ? html`<p class="remark">${say("turn_lost")}</p>` : nothing}
    ${turn.ask ? question(turn, say, page) : nothing}
    ${turn.line ? html`<footer><p class="facts">${turn.line}</p></footer>` : nothing}
  </article>`;
}
