// What frames the parts of the page: words in the document itself, which parts are in sight, the banner, the title.

import { icon, iconButton } from "../lib/icon.js";
import { html, nothing, render } from "../lib/lit.js";
import { isOver } from "../state/turn.js";

/** @import { Asking } from "../server/asking.js" */
/** @import { Selectors } from "../state/selectors.js" */
/** @import { Part } from "./drawing.js" */

/** @param {Document} document @param {Pick<Asking, "takeUp" | "dismiss">} asking @param {Pick<Selectors, "isGraph">} selectors @returns {Part} */
export function createFrame({ body, documentElement: root }, { takeUp, dismiss }, selectors) {
  const banner = /** @type {HTMLElement} */ (body.querySelector("#banner"));
  const waits = /** @type {HTMLElement} */ (body.querySelector("#awaiting"));
  /** @type {(selector: string) => NodeListOf<HTMLElement>} */
  const all = (selector) => root.querySelectorAll(selector);
  return {
    draw(state, say) {
      const { view, status, awaiting, notice, offer, turns } = state;
      root.lang = view.lang;
      root.dataset.theme = view.theme;
      body.dataset.tab = view.tab;
      const isGraph = selectors.isGraph(state);
      body.classList.toggle("graphless", !isGraph);
      body.classList.toggle("with-graph", view.graph && isGraph);
      body.classList.toggle("with-backstage", view.drawer);
      body.classList.toggle("awaiting", awaiting);
      waits.textContent = awaiting ? say("awaiting") : "";
      for (const each of all("[data-word]")) each.textContent = say(each.dataset.word ?? "");
      for (const each of all("[data-label]")) each.setAttribute("aria-label", say(each.dataset.label ?? ""));
      const back = status === "open" ? offer : null;
      const text = status === "open" ? notice : say(status);
      const undo = (/** @type {NonNullable<typeof offer>} */ given) =>
        html`<span>${given.text}</span><button type="button" class="quiet" @click=${() => takeUp(given)}>${icon("undo-2")}${say("take_back")}</button>${iconButton("x", say("close"), dismiss)}`;
      const news = text && text !== back?.text ? html`<span class="news">${text}</span>` : nothing;
      render(html`${news}${back ? undo(back) : nothing}`, banner);
      banner.hidden = !text && !back;
      banner.className = status === "open" ? "" : "warning";
      const atWork = [...turns.values()].filter((turn) => !isOver(turn));
      const asks = atWork.some((turn) => turn.ask);
      const doing = asks ? say("title_waiting") : atWork.length ? say("title_working") : "";
      root.ownerDocument.title = doing ? `${doing} · nebula` : "nebula";
    },
  };
}
