// What each day came to: a chart to look at, and the same numbers as a table.

import { html, nothing, svg } from "../lib/lit.js";
import { columnsOf, namedDays } from "./days.js";
import { shownAmount } from "./measures.js";

/** @import { Say } from "../lib/words.js" */
/** @import { Column } from "./days.js" */
/** @import { Spending } from "./measures.js" */

const [HEIGHT, LEFT, BOTTOM, TOP] = [200, 76, 24, 10];
const [WIDEST, NARROWEST, AROUND, NAME, HALF_NAME] = [1280, 300, 64, 110, 20];
/** @type {Intl.DateTimeFormatOptions} */
const SHORT = { month: "numeric", day: "numeric" };
const GAP = 0.24;

/** @param {Spending[]} entries @param {"cost" | "tokens" | "tasks"} what @param {number} days @param {Say} say */
export function dayChart(entries, what, days, say) {
  const width = Math.max(NARROWEST, Math.min(WIDEST, innerWidth - AROUND)); // letters keep their size
  const today = new Date().toISOString().slice(0, 10);
  const columns = columnsOf(entries, what, today, days);
  if (!columns.length) return html`<p class="hint">${say("not_measured")}</p>`;
  const largest = columns.reduce((best, column) => (column.value > best.value ? column : best));
  const told = (/** @type {Column} */ column) => (column.isUnpriced ? say("price_unknown") : shownAmount(column.value, what)); // prettier-ignore
  const about = say("chart_about", { what: say(what), from: columns[0].day, to: columns[columns.length - 1].day, day: largest.day, most: told(largest) }); // prettier-ignore
  const isCut = !days && entries[0].name < columns[0].day;
  return html`<figure class="days">
    ${isCut ? html`<p class="hint">${say("last_days", { days: columns.length })}</p>` : nothing}
    <svg viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label=${about}>${grid(largest.value, what, width)}${columns.map((column, place) => bar(column, (width - LEFT) / columns.length, place, told(column)))}${namedDays(columns, Math.floor(width / NAME)).map((place) => dayName(columns, place, width))}</svg>
    <details><summary>${say("as_table")}</summary>${table(columns, told, say)}</details>
  </figure>`;
}

/** @param {number} share */
function heightOf(share) {
  return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share);
}

/** @param {number} largest @param {string} what @param {number} width */
function grid(largest, what, width) {
  const line = (/** @type {number} */ share) =>
    svg`<line class="grid" x1=${LEFT} x2=${width} y1=${heightOf(share)} y2=${heightOf(share)}></line><text x=${LEFT - 8} y=${heightOf(share) + 4} text-anchor="end">${shownAmount(largest * share, what)}</text>`;
  return largest ? [0, 0.5, 1].map(line) : [svg`<line class="grid" x1=${LEFT} x2=${width} y1=${heightOf(0)} y2=${heightOf(0)}></line>`]; // prettier-ignore
}

/** @param {Column} column @param {number} step Of a day. @param {number} place @param {string} told */
function bar({ day, share, isUnpriced, entry }, step, place, told) {
  if (!entry) return nothing;
  const wide = Math.min(step * (1 - GAP), 48);
  const x = LEFT + step * place + (step - wide) / 2;
  const tall = isUnpriced ? 6 : Math.max(share ? 2 : 0, (HEIGHT - TOP - BOTTOM) * share);
  return svg`<rect class=${isUnpriced ? "unpriced" : "column"} x=${x} y=${heightOf(0) - tall} width=${wide} height=${tall} rx="3"><title>${day}: ${told}</title></rect>`;
}

// Below the middle of its column, but not beyond the edge of the chart.
/** @param {Column[]} columns @param {number} place @param {number} width */
function dayName(columns, place, width) {
  const step = (width - LEFT) / columns.length;
  const middle = LEFT + step * (place + 0.5);
  const isLast = middle + HALF_NAME > width;
  return svg`<text x=${isLast ? width : middle} y=${HEIGHT - 6} text-anchor=${isLast ? "end" : "middle"}>${new Date(`${columns[place].day}T12:00`).toLocaleDateString(document.documentElement.lang, SHORT)}</text>`;
}

/** @param {Column[]} columns @param {(column: Column) => string} told @param {Say} say */
function table(columns, told, say) {
  const row = (/** @type {Column} */ column) =>
    html`<tr><th scope="row">${column.day}</th><td>${told(column)}</td><td>${column.entry?.tasks ?? 0}</td></tr>`;
  return html`<table><thead><tr><th scope="col">${say("by_day")}</th><th scope="col">${say("amount")}</th><th scope="col">${say("tasks")}</th></tr></thead><tbody>${columns.filter(({ entry }) => entry).map(row)}</tbody></table>`;
}
