// How well tasks go and what they cost: the measures as numbers, spending as small bars with theirs.

import { html, nothing } from "../lib/lit.js";
import { dollars, measures, short, sharesOf } from "../state/figures.js";
import { bar } from "./bar.js";

const KINDS = ["day", "model", "flow", "project"];
const PERIODS = [7, 30, 0];

export function figures({ state, say, page, close, kept, redraw }) {
  const found = state.figures;
  const what = kept.what ?? "cost";
  const choose = (next) => () => {
    kept.what = next;
    redraw();
  };
  const pressed = (on) => (on ? "true" : "false");
  const more = html`<span class="choices">
    ${PERIODS.map((days) => html`<button type="button" aria-pressed=${pressed(found.days === days)} @click=${() => page.showFigures(days)}>${days ? say("last_days", { days }) : say("all_time")}</button>`)}
    ${["cost", "tokens"].map((each) => html`<button type="button" aria-pressed=${pressed(what === each)} @click=${choose(each)}>${say(each)}</button>`)}
  </span>`;
  return html`${bar(say("figures"), say, close, more)}
    <p class="hint">${say("figures_of", { tasks: found.tasks, projects: found.projects.length })}</p>
    <ul class="measures">${measures(found).map((each) => measure(each, say))}</ul>
    <div class="charts">${KINDS.map((kind) => chart(kind, found.spending[kind], what, say))}</div>`;
}

function measure({ name, shown, of }, say) {
  return html`<li><b>${shown ?? "–"}</b><span>${say(`kpi_${name}`)}</span><small>${shown === null ? say("not_measured") : of ? say("counted", { count: of }) : nothing}</small></li>`;
}

// The longest is the whole width; every bar has its number beside it.
function chart(kind, entries, what, say) {
  const shown = sharesOf(entries, what, kind === "day");
  const number = (entry) =>
    what === "cost" ? dollars(entry.cost) : `↑${short(entry.input_tokens)} ↓${short(entry.output_tokens)}`;
  return html`<section aria-label=${say(`by_${kind}`)}><h3>${say(`by_${kind}`)}</h3>
    ${shown.length ? html`<table>${shown.map(({ entry, label, share }) => html`<tr><th scope="row" title=${entry.name}>${label}</th><td class="bars" aria-hidden="true"><span .style=${`width:${Math.max(1, share * 100)}%`}></span></td><td>${number(entry)}${entry.unpriced_tokens && what === "cost" ? html` <small title=${say("unpriced")}>+?</small>` : nothing}</td></tr>`)}</table>` : html`<p class="hint">${say("not_measured")}</p>`}
  </section>`;
}
