// What a search can be narrowed to: a tag, a model, a time, a file that was touched.

import { valueOf } from "../lib/dom.js";
import { iconButton } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";

/** @import { Say } from "../lib/words.js" */
/** @import { Filters, State } from "../state/state.js" */
/** @import { Searching } from "./searching.js" */

const DAYS = [1, 7, 30];

/** @param {State} state @param {Say} say @param {Searching} searching @param {() => string} text */
export function filters(state, say, { search }, text) {
  const { filters: on } = state.search;
  const set = (/** @type {keyof Filters} */ name) => (/** @type {Event} */ event) =>
    search(text(), { ...on, [name]: valueOf(event) });
  const count = Object.values(on).filter(Boolean).length;
  const clear = html`<button type="button" class="quiet small" @click=${() => search(text(), {})}>${say("no_filters")}</button>`;
  const days = DAYS.map((each) => say("last_days", { days: each }));
  return html`<div class="filters">
      ${choice(say("tag"), say("any_tag"), Object.keys(state.choices?.tags ?? {}), on.tag, set("tag"))}
      ${choice(say("model"), say("any_model"), Object.keys(state.choices?.models ?? {}), on.model, set("model"))}
      ${choice(say("time"), say("any_time"), DAYS.map(since), on.since, set("since"), days)}
      <input type="text" autocomplete="off" spellcheck="false" placeholder=${say("file_touched")} aria-label=${say("file_touched")} .value=${on.path ?? ""} @change=${set("path")}>
      <label class="check"><input type="checkbox" .checked=${Boolean(on.pinned)} @change=${() => search(text(), { ...on, pinned: !on.pinned })}> ${say("only_pinned")}</label>
      ${count ? clear : nothing}
    </div>`;
}

/** @param {State} state @param {Say} say @param {Pick<Searching, "toggleFilters">} searching */
export function filterButton({ search, view }, say, { toggleFilters }) {
  const count = Object.values(search.filters).filter(Boolean).length;
  const label = count ? say("filters_on", { count }) : say("filters");
  return iconButton("list-filter", label, toggleFilters, {
    kind: `narrow${count ? " on" : ""}`,
    expanded: view.filters,
  });
}

/**
 * @param {string} label
 * @param {string} any
 * @param {string[]} values
 * @param {string | undefined} chosen
 * @param {(event: Event) => void} onchange
 * @param {string[]} names
 */
function choice(label, any, values, chosen, onchange, names = values) {
  return html`<select aria-label=${label} @change=${onchange}><option value="" .selected=${!chosen}>${any}</option>
    ${values.map((value, place) => html`<option value=${value} .selected=${value === chosen}>${names[place]}</option>`)}</select>`;
}

/** @param {number} days */
function since(days) {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}
