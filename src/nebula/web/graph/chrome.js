// What stands around the picture: zoom, fit and fold above, the meaning of its colours below.

import { valueOf } from "../lib/dom.js";
import { icon, iconButton } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";

/** @import { Say } from "../lib/words.js" */
/** @import { State } from "../state/state.js" */
/** @import { Colouring } from "./picture/colouring.js" */
/** @typedef {{ fit: () => void, zoom: (factor: number) => void, fold: () => void, widen: () => void, colourBy: (by: string) => void }} ChromeActions */

const MEANINGS = ["model", "tag", "none"];
const SHOWN = 5;

// What the card of the chosen turn shows is said as well.
/** @param {State} state @param {Say} say @param {Colouring | null} colouring @param {any} over @param {ChromeActions} actions */
export function chrome(state, say, colouring, over, { fit, zoom, fold, widen, colourBy }) {
  const brief = state.briefs.get(state.selected ?? "");
  const { folding, wide } = state.view;
  const title = brief?.title ?? say("nothing_selected");
  const card = [brief?.summary, brief?.opening, brief?.tags?.join(", ")].filter(Boolean).join(" · ");
  return html`<canvas class="picture" tabindex="0" role="img" aria-label=${say("graph_label", { title })} aria-description=${card || nothing}></canvas>
    <div class="over">${over}</div>
    <canvas class="minimap" width="132" height="96" aria-hidden="true"></canvas>
    <div class="controls">
      ${iconButton("zoom-in", say("zoom_in"), () => zoom(1.25))}${iconButton("zoom-out", say("zoom_out"), () => zoom(0.8))}${iconButton("maximize", say("fit"), fit)}${iconButton(folding ? "unfold-vertical" : "fold-vertical", say("folding"), fold, { pressed: folding })}
      <button type="button" class="icon-button widen" aria-label=${say(wide ? "graph_close" : "graph_open")} data-tip=${say(wide ? "graph_close" : "graph_open")} aria-expanded=${wide ? "true" : "false"} @click=${widen}>${icon(wide ? "x" : "network")}</button>
    </div>
    ${colouring ? legend(state.view.colourBy, colouring, say, colourBy) : nothing}`;
}

// Where everything has one colour there is nothing to explain.
/** @param {string} by @param {Colouring} colouring @param {Say} say @param {(by: string) => void} choose */
function legend(by, { legend: known }, say, choose) {
  if (by === "model" && known.length < 2) return nothing;
  const option = (/** @type {string} */ name) =>
    html`<option value=${name} .selected=${name === by}>${say(`colour_${name}`)}</option>`;
  const line = (/** @type {{ name: string, token: string }} */ { name, token }) =>
    html`<li><span class="swatch" .style=${`background:var(${token})`}></span>${name}</li>`;
  return html`<div class="legend">
    <select aria-label=${say("colour_by")} @change=${(/** @type {Event} */ event) => choose(valueOf(event))}>${MEANINGS.map(option)}</select>
    ${known.length ? html`<ul>${known.slice(0, SHOWN).map(line)}${known.length > SHOWN ? html`<li>+${known.length - SHOWN}</li>` : nothing}</ul>` : nothing}
  </div>`;
}
