// The drawer for those who want to see the tools: of the turn at work here, or of the chosen one, out of its node.
//
//   const backstage = createBackstage(root, page);
//   backstage.draw(state, say);

import { guard, html, nothing, render } from "../lib/lit.js";
import { turnHere } from "../state/reduce.js";
import { fieldsOf, roundsOf } from "../state/tool_log.js";
import { isOver } from "../state/turn.js";

const MOST_LINES = 12; // longer ones are folded

export function createBackstage(root, page) {
  return {
    draw(state, say) {
      root.hidden = !state.view.drawer;
      if (root.hidden) return;
      const turn = turnHere(state);
      const body = state.bodies.get(state.selected ?? "");
      const live = turn !== null && (!isOver(turn) || !body);
      const entries = live ? turn.backstage : roundsOf(body?.texts ?? []);
      const title = live ? turn.prompt : (body?.prompt ?? "");
      render(
        html`<div class="bar"><h2>${say("backstage")}</h2><button type="button" class="quiet" aria-label=${say("close")} @click=${() => page.look({ drawer: false })}>×</button></div>
          ${title ? html`<h3>${title}</h3>` : nothing} ${entries.length ? entries.map((each) => entry(each, say)) : html`<p class="nothing">${say(live ? "empty_backstage" : "no_tools")}</p>`}`,
        root,
      );
    },
  };
}

function entry({ title, text }, say) {
  if (!text) return html`<p class="step">${title}</p>`;
  return html`<details><summary>${title}</summary>${guard([text, say], () => fieldsOf(text).map((each) => field(each, say)))}</details>`;
}

function field({ name, text, lines }, say) {
  if (!name) return html`<pre tabindex="0">${text}</pre>`;
  if (!lines) return html`<p class="field"><b>${name}:</b> <code>${text}</code></p>`;
  if (lines <= MOST_LINES) return html`<p class="field"><b>${name}:</b></p><pre tabindex="0">${text}</pre>`;
  return html`<details class="field"><summary>${say("lines", { name, count: lines })}</summary><pre tabindex="0">${text}</pre></details>`;
}
