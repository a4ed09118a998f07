// Two turns side by side: each with its way from where they part, its prompt and answer; below, how their files differ.

import { bar } from "../dialogs/bar.js";
import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { answer } from "../lib/markdown.js";
import { partingOf } from "../state/topology.js";
import { fileList } from "./file_list.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { State } from "../state/state.js" */

/** @param {Sheet} sheet */
export function comparing({ state, say, actions, close, kept }) {
  if (!state.compared) return nothing;
  const { ids, files } = state.compared;
  const { loading, selectors } = actions;
  loading.bodies(ids.filter((id) => !state.bodies.has(id)));
  const parting = partingOf(selectors.topology(state), ids[0], ids[1]);
  loading.briefs(parting.ways.flat().filter((id) => !state.briefs.has(id)));
  const go = (/** @type {string} */ id) => {
    close();
    actions.choosing.open(id);
  };
  const common = parting.common ? say("parts_at", { title: title(state, parting.common) }) : say("parts_nowhere");
  return html`${bar(say("compare"), say, close)}
    <p class="hint">${common}</p>
    <div class="sides">${ids.map((id, side) => column(state, say, id, parting.ways[side], kept.answers, () => go(id)))}</div>
    <p class="foot"><button type="button" class="primary" @click=${close}>${icon("git-merge")}${say("merge_both")}</button><span class="hint">${say("merge_both_hint")}</span></p>
    <h3>${say("files_differ")}</h3>
    ${files.length ? fileList(files, say, state.project) : html`<p>${say("files_alike")}</p>`}`;
}

/** @param {State} state @param {string} id */
function title(state, id) {
  return state.briefs.get(id)?.title ?? "…";
}

/** @param {State} state @param {Say} say @param {string} id @param {string[]} way @param {Record<string, HTMLElement>} answers @param {() => void} go */
function column(state, say, id, way, answers, go) {
  const body = state.bodies.get(id);
  const ticks = { done: say("task_done"), todo: say("task_todo") };
  const labels = { copy: say("copy"), copied: say("copied"), ...ticks };
  if (body) answers[id] ??= answer(body.response, labels);
  const usage = body?.usage ? `↑${body.usage.input} ↓${body.usage.output}` : "";
  const facts = [body?.model, usage].filter(Boolean).join(" · ");
  const steps = html`<ol class="way">${way.slice(0, -1).map((each) => html`<li>${title(state, each)}</li>`)}</ol>`;
  return html`<section aria-label=${title(state, id)}>
    ${way.length > 1 ? steps : nothing}
    <div class="prompt">${body?.prompt ?? "…"}</div>
    <p class="facts">${facts}</p>
    ${answers[id] ?? nothing}
    <p class="foot"><button type="button" @click=${go}>${icon("arrow-right")}${say("continue_here")}</button></p>
  </section>`;
}
