// That work goes on, and for how long: where the answer will be. And that a turn is at work, or asks, in another branch.

import { element } from "../lib/dom.js";
import { html, nothing, render } from "../lib/lit.js";
import { icon } from "../lib/icon.js";
import { turnHere, turnInSight } from "../state/here.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { Part } from "../app/drawing.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Turn } from "../state/turn.js" */

const TELL_EVERY_S = 5;

/** @param {HTMLElement} root @param {Pick<Choosing, "watch">} choosing @returns {Part & { working: HTMLElement }} */
export function createStage(root, { watch }) {
  // The article around it is read out as it grows: not the clock.
  const working = element("div", { class: "working", "aria-live": "off" });
  /** @type {{ turn: Turn, say: Say } | null} What the clock runs for. */
  let shown = null;
  setInterval(() => shown && paint(shown), 1000);

  /** @param {{ turn: Turn, say: Say }} now */
  function paint({ turn, say }) {
    const doing = turn.stopping ? say("stopping") : turn.doing || say("working");
    const seconds = Math.max(0, Math.round((Date.now() - turn.curtainSince) / 1000));
    const told = seconds - (seconds % TELL_EVERY_S); // a screen reader need not hear every second
    const heard = `${doing} ${told ? say("seconds", { seconds: told }) : ""}`;
    render(
      html`<span class="pulse" aria-hidden="true"></span>
        <span class="heard" role="status" aria-label=${heard}>${turn.amount ? `${doing} · ${turn.amount}` : doing}</span>
        <span class="clock" aria-hidden="true">${seconds ? say("seconds", { seconds }) : ""}</span>`,
      working,
    );
  }

  /** @param {Turn} turn @param {Say} say */
  function elsewhere(turn, say) {
    return html`<button type="button" class="strip ${turn.ask ? "asks" : ""}" @click=${() => watch(turn.traceId)}>
      ${icon(turn.ask ? "hand" : "loader-circle")}<span role="status">${say(turn.ask ? "elsewhere" : "works_elsewhere")}</span><b>${say("go_there")}</b>${icon("arrow-right")}
    </button>`;
  }

  return {
    working,
    draw(state, say) {
      const turn = turnInSight(state);
      const here = turn !== null && turn === turnHere(state);
      shown = turn !== null && here && !turn.ask ? { turn, say } : null;
      if (state.sending) render(html`<span class="pulse" aria-hidden="true"></span>${say("sending")}`, working);
      else if (shown) paint(shown);
      root.hidden = turn === null || here;
      render(turn && !here ? elsewhere(turn, say) : nothing, root);
    },
  };
}
