// The drawer for those who want to see the tools: of the turn at work here, or of the chosen one, out of its node.

import { icon, iconButton } from "../lib/icon.js";
import { guard, html, nothing, render } from "../lib/lit.js";
import { turnHere } from "../state/here.js";
import { isOver } from "../state/turn.js";
import { callsOf, fieldsOf, roundsOf } from "./tool_log.js";

/** @import { Looking } from "../app/looking.js" */
/** @import { Part } from "../app/drawing.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { ToolCall } from "./tool_log.js" */

const MOST_LINES = 12; // longer ones are folded

/** @param {HTMLElement} root @param {Pick<Looking, "look">} looking @returns {Part} */
export function createBackstage(root, { look }) {
  return {
    draw(state, say) {
      root.hidden = !state.view.drawer;
      if (root.hidden) return;
      const turn = turnHere(state);
      const body = state.bodies.get(state.selected ?? "");
      const live = turn !== null && (!isOver(turn) || !body);
      const entries = live ? turn.backstage : roundsOf(body?.texts ?? []);
      const title = live ? turn.prompt : (body?.prompt ?? "");
      const close = () => look({ drawer: false });
      render(
        html`<div class="bar"><h2>${say("backstage")}</h2>${iconButton("x", say("close"), close)}</div>
          ${title ? html`<h3>${title}</h3>` : nothing}
          ${entries.length ? callsOf(entries).map((each) => entry(each, say)) : html`<p class="nothing">${say(live ? "empty_backstage" : "no_tools")}</p>`}`,
        root,
      );
    },
  };
}

/** @param {ToolCall} call @param {Say} say */
function entry({ title, text, status, result }, say) {
  if (!text && !result) return html`<p class="step">${title}</p>`;
  const fields = (/** @type {string} */ told) => (told ? fieldsOf(told).map((each) => field(each, say)) : nothing);
  const about = fieldsOf(text).find(({ name, lines }) => name && !lines)?.text ?? "";
  const sign = status && icon(status === "Success" ? "check" : "circle-alert");
  return guard(
    [title, text, status, result, say],
    () =>
      html`<details class=${status}><summary><b>${title}</b><span>${about}</span><span class="hidden">${status}</span>${sign}</summary>${fields(text)}${fields(result)}</details>`,
  );
}

/** @param {ReturnType<typeof fieldsOf>[number]} field @param {Say} say */
function field({ name, text, lines }, say) {
  if (!name) return html`<pre tabindex="0">${text}</pre>`;
  if (!lines) return html`<p class="field"><b>${name}:</b> <code>${text}</code></p>`;
  if (lines <= MOST_LINES) return html`<p class="field"><b>${name}:</b></p><pre tabindex="0">${text}</pre>`;
  const title = say("lines", { name, count: lines });
  return html`<details class="field"><summary>${title}</summary><pre tabindex="0">${text}</pre></details>`;
}
