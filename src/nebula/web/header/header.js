// The bar on top: which flow, which part of the page, how it looks.

import { valueOf } from "../lib/dom.js";
import { html, render, repeat } from "../lib/lit.js";

/** @import { Looking } from "../app/looking.js" */
/** @import { Part } from "../app/drawing.js" */
/** @import { FigureActions } from "../figures/actions.js" */
/** @import { Loading } from "../server/loading.js" */

const TABS = ["outline", "talk", "graph"];

/**
 * @param {HTMLElement} root
 * @param {Looking} looking
 * @param {Pick<Loading, "chooseFlow">} loading
 * @param {FigureActions} figures
 * @returns {Part}
 */
export function createHeader(root, { look, nextTheme, nextLanguage }, { chooseFlow }, { showFigures }) {
  const pressed = (/** @type {boolean} */ on) => (on ? "true" : "false");
  const choose = (/** @type {Event} */ event) => chooseFlow(valueOf(event));
  return {
    draw(state, say) {
      const { view } = state;
      const flows = state.flow.problem ? [state.flow, ...state.flows] : state.flows; // one that cannot be read is in no list
      const option = (/** @type {{ id: string, name: string }} */ flow) =>
        html`<option value=${flow.id} .selected=${flow.id === state.flow.id}>${flow.name}</option>`;
      const tab = (/** @type {string} */ name) =>
        html`<button type="button" data-tab=${name} aria-pressed=${pressed(name === view.tab)} @click=${() => look({ tab: name })}>${say(name)}</button>`;
      render(
        html`<h1>nebula</h1>
          <select id="flows" ?hidden=${flows.length < 2} aria-label=${say("flow")} @change=${choose}>${repeat(flows, (flow) => flow.id, option)}</select>
          <nav id="tabs" aria-label=${say("views")}>${TABS.map(tab)}</nav>
          <div id="tools">
            <button type="button" id="toggle-graph" aria-pressed=${pressed(view.graph)} @click=${() => look({ graph: !view.graph })}>${say("graph")}</button>
            <button type="button" id="toggle-backstage" aria-pressed=${pressed(view.drawer)} @click=${() => look({ drawer: !view.drawer })}>${say("backstage")}</button>
            <button type="button" id="figures" @click=${() => showFigures()}>${say("figures")}</button>
            <button type="button" id="theme" @click=${nextTheme}>${say(`theme_${view.theme}`)}</button>
            <button type="button" id="language" lang=${view.lang === "ja" ? "en" : "ja"} @click=${nextLanguage}>${say("language")}</button>
            <button type="button" id="help" aria-label=${say("help")} @click=${() => look({ dialog: "help" })}>?</button>
          </div>`,
        root,
      );
    },
  };
}
