// What a search can be narrowed to: a tag, a model, a time, a file that was touched.

import { html, nothing } from "../lib/lit.js";

const DAYS = [1, 7, 30];

export function filters(state, say, page, text) {
  const { filters: on } = state.search;
  const set = (name) => (event) => page.search(text(), { ...on, [name]: event.target.value });
  const count = Object.values(on).filter(Boolean).length;
  return html`<button type="button" class="quiet small narrow" aria-expanded=${state.view.filters ? "true" : "false"} @click=${() => page.toggleFilters()}>${count ? say("filters_on", { count }) : say("filters")}</button>
    ${
      state.view.filters
        ? html`<div class="filters">
      ${choice(say("tag"), say("any_tag"), Object.keys(state.choices?.tags ?? {}), on.tag, set("tag"))}
      ${choice(say("model"), say("any_model"), Object.keys(state.choices?.models ?? {}), on.model, set("model"))}
      ${choice(
        say("time"),
        say("any_time"),
        DAYS.map(since),
        on.since,
        set("since"),
        DAYS.map((days) => say("last_days", { days })),
      )}
      <input type="text" autocomplete="off" spellcheck="false" placeholder=${say("file_touched")} aria-label=${say("file_touched")} .value=${on.path ?? ""} @change=${set("path")}>
      ${count ? html`<button type="button" class="quiet small" @click=${() => page.search(text(), {})}>${say("no_filters")}</button>` : nothing}
    </div>`
        : nothing
    }`;
}

function choice(label, any, values, chosen, onchange, names = values) {
  return html`<select aria-label=${label} @change=${onchange}><option value="" .selected=${!chosen}>${any}</option>
    ${values.map((value, place) => html`<option value=${value} .selected=${value === chosen}>${names[place]}</option>`)}</select>`;
}

function since(days) {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}
