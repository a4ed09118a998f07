// Two turns side by side: each with its way from where they part, its prompt and answer; below, how their files differ.

import { html, nothing } from "../lib/lit.js";
import { answer } from "../lib/markdown.js";
import { partingOf } from "../state/topology.js";
import { bar } from "./bar.js";
import { fileList } from "./file_list.js";

export function comparing({ state, say, page, close, kept }) {
  const { ids, files } = state.compared;
  page.bodies(ids.filter((id) => !state.bodies.has(id)));
  const parting = partingOf(page.topology, ids[0], ids[1]);
  page.briefs(parting.ways.flat().filter((id) => !state.briefs.has(id)));
  const common = parting.common ? say("parts_at", { title: title(state, parting.common) }) : say("parts_nowhere");
  return html`${bar(say("compare"), say, close)}
    <p class="hint">${common}</p>
    <div class="sides">${ids.map((id, side) => column(state, say, id, parting.ways[side], kept))}</div>
    <h3>${say("files_differ")}</h3>
    ${files.length ? fileList(files, say, state.project) : html`<p>${say("files_alike")}</p>`}`;
}

function title(state, id) {
  return state.briefs.get(id)?.title ?? "…";
}

function column(state, say, id, way, kept) {
  const body = state.bodies.get(id);
  const labels = { copy: say("copy"), copied: say("copied") };
  if (body && !kept[id]) kept[id] = answer(body.response, labels);
  const facts = [body?.model, body?.usage ? `↑${body.usage.input} ↓${body.usage.output}` : ""]
    .filter(Boolean)
    .join(" · ");
  return html`<section aria-label=${title(state, id)}>
    ${way.length > 1 ? html`<ol class="way">${way.slice(0, -1).map((each) => html`<li>${title(state, each)}</li>`)}</ol>` : nothing}
    <div class="prompt">${body?.prompt ?? "…"}</div>
    <p class="facts">${facts}</p>
    ${kept[id] ?? nothing}
  </section>`;
}
