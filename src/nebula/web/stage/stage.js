// The quiet strip between two acts: that work goes on, and for how long; or that a question waits in another branch.
//
//   const stage = createStage(root, page);
//   stage.draw(state, say);

import { html, nothing, render } from "../lib/lit.js";
import { canNotify } from "../lib/notify.js";
import { turnHere, turnInSight } from "../state/reduce.js";

const TELL_EVERY_S = 5;

export function createStage(root, page) {
  /** @type {any} */
  const view = { turn: null, say: null };
  setInterval(() => view.turn && paint(), 1000);

  function paint() {
    const { turn, say } = view;
    const doing = turn.doing || say("working");
    const seconds = Math.max(0, Math.round((Date.now() - turn.curtainSince) / 1000));
    const told = seconds - (seconds % TELL_EVERY_S); // a screen reader need not hear every second
    render(
      html`<div class="strip">
        <span class="pulse" aria-hidden="true"></span>
        <span class="heard" role="status" aria-label=${`${doing} ${told ? say("seconds", { seconds: told }) : ""}`}>${doing}</span>
        <span class="clock" aria-hidden="true">${say("seconds", { seconds })}</span>
        ${canNotify() ? html`<button type="button" class="quiet small" aria-pressed=${page.state.view.notify ? "true" : "false"} @click=${() => page.toggleNotify()}>${say("notify")}</button>` : nothing}
        <button type="button" ?disabled=${turn.stopping} @click=${() => stop(turn)}>${say(turn.stopping ? "stopping" : "stop")}</button>
      </div>`,
      root,
    );
  }

  function stop(turn) {
    page.focusPrompt(); // the button goes away, and must not take the focus along
    page.stop(turn.traceId);
  }

  return {
    draw(state, say) {
      const turn = turnInSight(state);
      const here = turn !== null && turn === turnHere(state);
      const shown = turn !== null && !(here && turn.ask);
      root.hidden = !shown;
      Object.assign(view, { turn: shown && here ? turn : null, say });
      if (!shown) render(null, root);
      else if (here) paint();
      else {
        render(
          html`<div class="strip">
            <span role="status">${say("elsewhere")}</span>
            <button type="button" class="primary" @click=${() => page.select(turn.parents[0] ?? null)}>${say("go_there")}</button>
          </div>`,
          root,
        );
      }
    },
  };
}
