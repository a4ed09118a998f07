// How well tasks go and what they cost: the measures as numbers, spending as a chart of days and as small bars.

import { bar } from "../dialogs/bar.js";
import { html, nothing } from "../lib/lit.js";
import { dayChart } from "./day_chart.js";
import { measures, short, sharesOf, shownAmount } from "./measures.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Spending } from "./measures.js" */

const KINDS = ["model", "flow", "project"];
/** @type {("cost" | "tokens" | "tasks")[]} */
const WHATS = ["cost", "tokens", "tasks"];
const PERIODS = [7, 30, 0];

/** @param {Sheet} sheet */
export function figures({ state, say, actions, close, kept, redraw }) {
  const found = state.figures;
  const choose = (/** @type {"cost" | "tokens" | "tasks"} */ next) => () => {
    kept.what = next;
    redraw();
  };
  const pressed = (/** @type {boolean} */ on) => (on ? "true" : "false");
  const period = (/** @type {number} */ days) =>
    html`<button type="button" aria-pressed=${pressed(found.days === days)} @click=${() => actions.figures.showFigures(days)}>${days ? say("last_days", { days }) : say("all_time")}</button>`;
  const kind = (/** @type {"cost" | "tokens" | "tasks"} */ each) =>
    html`<button type="button" aria-pressed=${pressed(kept.what === each)} @click=${choose(each)}>${say(each)}</button>`;
  const more = html`<span class="segments">${PERIODS.map(period)}</span><span class="segments">${WHATS.map(kind)}</span>`;
  return html`${bar(say("figures"), say, close, more)}
    <p class="hint">${say("figures_of", { tasks: found.tasks, projects: found.projects.length })}</p>
    ${measured(measures(found, say), say)}
    <section aria-label=${say("by_day")}><h3>${say("by_day")}</h3>${dayChart(found.spending.day, kept.what, found.days, say)}</section>
    <div class="charts">${KINDS.map((each) => chart(each, found.spending[each], kept.what, say))}</div>`;
}

// What was measured stands large; what was not is one line.
/** @param {ReturnType<typeof measures>} all @param {Say} say */
function measured(all, say) {
  const known = all.filter((each) => each.shown !== null);
  const names = all.filter((each) => each.shown === null).map(({ name }) => say(`kpi_${name}`));
  const one = (/** @type {ReturnType<typeof measures>[number]} */ { name, shown, of }) =>
    html`<li><b>${shown}</b><span>${say(`kpi_${name}`)}</span><small>${of ? say("counted", { count: of }) : nothing}</small></li>`;
  return html`${known.length ? html`<ul class="measures">${known.map(one)}</ul>` : nothing}
    ${names.length ? html`<p class="hint">${say("unmeasured", { names: names.join(say("and_then")) })}</p>` : nothing}`;
}

// The longest is the whole width; every bar has its number beside it.
/** @param {string} kind @param {Spending[]} entries @param {string} what @param {Say} say */
function chart(kind, entries, what, say) {
  const shown = sharesOf(entries, what);
  const number = (/** @type {Spending} */ entry) =>
    what === "tokens"
      ? `↑${short(entry.input_tokens)} ↓${short(entry.output_tokens)}`
      : shownAmount(what === "cost" ? entry.cost : entry.tasks, what);
  const line = (/** @type {typeof shown[number]} */ { entry, label, share }) => {
    const unpriced = entry.unpriced_tokens && what === "cost";
    if (unpriced && !entry.cost)
      return html`<tr><th scope="row" title=${entry.name}>${label}</th><td></td><td class="hint">${say("price_unknown")}</td></tr>`;
    return html`<tr><th scope="row" title=${entry.name}>${label}</th><td class="bars" aria-hidden="true"><span .style=${`width:${Math.max(1, share * 100)}%`}></span></td><td>${number(entry)}${unpriced ? html` <small title=${say("unpriced")}>+?</small>` : nothing}</td></tr>`;
  };
  return html`<section aria-label=${say(`by_${kind}`)}><h3>${say(`by_${kind}`)}</h3>
    ${shown.length ? html`<table>${shown.map(line)}</table>` : html`<p class="hint">${say("not_measured")}</p>`}
  </section>`;
}
