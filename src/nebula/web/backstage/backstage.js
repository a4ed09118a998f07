// The drawer for those who want to see the tools: of the turn at work, or of the chosen turn, from its node.

import { html, nothing, render } from "../lib/lit.js";

export function createBackstage(root, page) {
  return {
    draw(state, say) {
      root.hidden = !state.view.drawer;
      if (root.hidden) return;
      const body = state.selected === null ? null : (state.bodies.get(state.selected) ?? null);
      const kept = (body?.texts ?? []).filter((text) => text.role === "tool").map((text) => ({ title: text.attributes?.name ?? "", text: text.text }));
      const entries = state.backstage.length ? state.backstage : kept;
      render(
        html`<div class="bar"><h2>${say("backstage")}</h2><button type="button" class="quiet" aria-label=${say("close")} @click=${() => page.look({ drawer: false })}>×</button></div>
          ${entries.length ? entries.map(entry) : html`<p class="nothing">${say("empty_backstage")}</p>`}`,
        root,
      );
    },
  };
}

function entry({ title, text, start }) {
  if (start) return html`<h3>${text}</h3>`;
  if (!text) return html`<p class="step">${title}</p>`;
  return html`<details><summary>${title || nothing}</summary><pre tabindex="0">${text}</pre></details>`;
}
