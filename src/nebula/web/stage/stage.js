// The quiet strip between two acts: that work goes on, and for how long; or that a turn is at work in another branch.

import { canNotify } from "../app/notify.js";
import { html, nothing, render } from "../lib/lit.js";
import { turnHere, turnInSight } from "../state/here.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { Part } from "../app/drawing.js" */
/** @import { Looking } from "../app/looking.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Turn } from "../state/turn.js" */
/** @import { TurnActions } from "../transcript/actions.js" */

const TELL_EVERY_S = 5;

/**
 * @param {HTMLElement} root
 * @param {Pick<TurnActions, "stop">} turns
 * @param {Pick<Choosing, "watch">} choosing
 * @param {Pick<Looking, "toggleNotify">} looking
 * @param {() => void} focusPrompt
 * @returns {Part}
 */
export function createStage(root, turns, { watch }, { toggleNotify }, focusPrompt) {
  /** @type {{ turn: Turn, say: Say, notify: boolean } | null} What the clock runs for. */
  let shown = null;
  setInterval(() => shown && paint(shown), 1000);

  /** @param {{ turn: Turn, say: Say, notify: boolean }} now */
  function paint({ turn, say, notify }) {
    const doing = turn.doing || say("working");
    const seconds = Math.max(0, Math.round((Date.now() - turn.curtainSince) / 1000));
    const told = seconds - (seconds % TELL_EVERY_S); // a screen reader need not hear every second
    const heard = `${doing} ${told ? say("seconds", { seconds: told }) : ""}`;
    const bell = html`<button type="button" class="quiet small" aria-pressed=${notify ? "true" : "false"} @click=${toggleNotify}>${say("notify")}</button>`;
    render(
      html`<div class="strip">
        <span class="pulse" aria-hidden="true"></span>
        <span class="heard" role="status" aria-label=${heard}>${turn.amount ? `${doing} · ${turn.amount}` : doing}</span>
        <span class="clock" aria-hidden="true">${say("seconds", { seconds })}</span>
        ${canNotify() ? bell : nothing}
        <button type="button" ?disabled=${turn.stopping} @click=${() => stop(turn)}>${say(turn.stopping ? "stopping" : "stop")}</button>
      </div>`,
      root,
    );
  }

  /** @param {Turn} turn */
  function stop(turn) {
    focusPrompt(); // the button goes away, and must not take the focus along
    turns.stop(turn.traceId);
  }

  /** @param {Turn} turn @param {Say} say */
  function elsewhere(turn, say) {
    return html`<div class="strip">
      <span role="status">${say(turn.ask ? "elsewhere" : "works_elsewhere")}</span>
      <button type="button" class=${turn.ask ? "primary" : "quiet"} @click=${() => watch(turn.traceId)}>${say("go_there")}</button>
    </div>`;
  }

  return {
    draw(state, say) {
      const turn = turnInSight(state);
      const here = turn !== null && turn === turnHere(state);
      const { notify } = state.view;
      shown = turn !== null && here && !turn.ask ? { turn, say, notify } : null;
      root.hidden = turn === null || (here && turn.ask !== null);
      if (shown) paint(shown);
      else render(turn && !here ? elsewhere(turn, say) : nothing, root);
    },
  };
}
