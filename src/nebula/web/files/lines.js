// A file as it is now; the turn of each line stands in the margin, one click away.

import { bar } from "../dialogs/bar.js";
import { html, nothing } from "../lib/lit.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { LineRun } from "../state/state.js" */

/** @param {Sheet} sheet */
export function fileLines({ state, say, actions, close }) {
  if (!state.lines) return nothing;
  const { path, lines, runs, total } = state.lines;
  const open = (/** @type {string} */ id) => () => {
    close();
    actions.choosing.open(id);
  };
  const one = (/** @type {LineRun} */ run) => html`<section class="run by-${run.by}" aria-label=${placeOf(run, say)}>
    <p>${
      run.node_id
        ? html`<button type="button" class="quiet" title=${titleOf(run)} @click=${open(run.node_id)}>${run.prompt || say("untitled")}</button>`
        : html`<span title=${titleOf(run)}>${run.tool || run.author || say(`lines_${run.by}`)}</span>`
    }</p>
    <ol start=${run.start_line}>${lines.slice(run.start_line - 1, run.end_line).map((line) => html`<li><code>${line}</code></li>`)}</ol>
  </section>`;
  return html`${bar(say("lines_title", { path }), say, close)}
    ${lines.length < total ? html`<p class="hint">${say("lines_cut", { count: lines.length, total })}</p>` : nothing}
    <div class="runs" tabindex="0" role="region" aria-label=${say("lines_of", { path })}>${runs.map(one)}</div>`;
}

/** @param {LineRun} run */
function titleOf(run) {
  return [run.model, run.at?.slice(0, 10), run.commit?.slice(0, 8), run.verified ? "✓" : ""]
    .filter(Boolean)
    .join(" · ");
}

/** @param {LineRun} run @param {Say} say */
function placeOf(run, say) {
  return say("lines_place", { from: run.start_line, to: run.end_line });
}
