// What the reader decided in a turn: a quiet line, with what was proposed folded under it.

import { diffOf } from "../lib/diff.js";
import { icon } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";

/** @import { Decision } from "../backstage/tool_log.js" */
/** @import { Say } from "../lib/words.js" */

/** @param {Decision} decision @param {Say} say */
export function decisionLine(decision, say) {
  const line = html`${icon(decision.refused ? "hand" : "check")}<span>${decisionWords(decision, say)}</span>`;
  const { proposed, left, about } = decision;
  if (!proposed) return html`<p class="decided">${line}</p>`;
  const part = left
    ? html`<h3>${say("part_left_out")}</h3>${diffOf(left, say, { path: about })}<h3>${say("was_proposed")}</h3>`
    : nothing;
  return html`<details class="decided"><summary>${line}</summary>${part}${diffOf(proposed, say, { path: about, placed: false })}</details>`;
}

/** @param {Decision} decision @param {Say} say */
function decisionWords({ about, answer, taken = 0, of }, say) {
  if (of) return say("decided_part", { about, taken, of });
  return answer === "no" ? say("decided_no", { about }) : say("decided_why", { about, answer });
}
