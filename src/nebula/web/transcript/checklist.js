// The model's own list of steps, as it stands now.

import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";

/** @import { IconName } from "../lib/icon.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Step } from "../state/turn.js" */

/** @type {Record<string, IconName>} */
const SIGNS = { completed: "circle-check", in_progress: "circle-dot", pending: "circle" };

/** @param {Step[]} steps @param {Say} say */
export function checklist(steps, say) {
  if (!steps.length) return nothing;
  const done = steps.filter((step) => step.status === "completed").length;
  const one = (/** @type {Step} */ { content, status }) => {
    const known = status in SIGNS ? status : "pending";
    return html`<li class=${known}>${icon(SIGNS[known])}<span>${content}<span class="hidden"> (${say(`step_${known}`)})</span></span></li>`;
  };
  return html`<section class="steps" aria-label=${say("steps")}>
    <p>${icon("list-checks")}${say("steps_done", { done, count: steps.length })}</p>
    <ol>${steps.map(one)}</ol>
  </section>`;
}
