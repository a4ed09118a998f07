// The bar on top: which flow, which part of the page, how it looks.
//
//   const header = createHeader(root, page);
//   header.draw(state, say);

import { html, render, repeat } from "../lib/lit.js";

const TABS = ["outline", "talk", "graph"];

export function createHeader(root, page) {
  return {
    draw(state, say) {
      const { view } = state;
      const flows = state.flow.problem ? [state.flow, ...state.flows] : state.flows; // one that cannot be read is in no list
      const pressed = (on) => (on ? "true" : "false");
      render(
        html`<h1>nebula</h1>
          <select id="flows" ?hidden=${flows.length < 2} aria-label=${say("flow")} @change=${(event) => page.chooseFlow(event.target.value)}>
            ${repeat(
              flows,
              (flow) => flow.id,
              (flow) => html`<option value=${flow.id} .selected=${flow.id === state.flow.id}>${flow.name}</option>`,
            )}
          </select>
          <nav id="tabs" aria-label=${say("views")}>
            ${TABS.map((tab) => html`<button type="button" data-tab=${tab} aria-pressed=${pressed(tab === view.tab)} @click=${() => page.look({ tab })}>${say(tab)}</button>`)}
          </nav>
          <div id="tools">
            <button type="button" id="toggle-graph" aria-pressed=${pressed(view.graph)} @click=${() => page.look({ graph: !view.graph })}>${say("graph")}</button>
            <button type="button" id="toggle-backstage" aria-pressed=${pressed(view.drawer)} @click=${() => page.look({ drawer: !view.drawer })}>${say("backstage")}</button>
            <button type="button" id="figures" @click=${() => page.showFigures()}>${say("figures")}</button>
            <button type="button" id="theme" @click=${() => page.nextTheme()}>${say(`theme_${view.theme}`)}</button>
            <button type="button" id="language" lang=${view.lang === "ja" ? "en" : "ja"} @click=${() => page.nextLanguage()}>${say("language")}</button>
            <button type="button" id="help" aria-label=${say("help")} @click=${() => page.look({ dialog: "help" })}>?</button>
          </div>`,
        root,
      );
    },
  };
}
