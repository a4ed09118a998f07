// The bar on top: where one is, what this conversation cost, which parts of the page are in sight, and the settings.
// On a phone the parts are tabs at the bottom.

import { dollars, roughly, short } from "../figures/measures.js";
import { valueOf } from "../lib/dom.js";
import { icon, iconButton } from "../lib/icon.js";
import { html, nothing, render, repeat } from "../lib/lit.js";
import { menuOf } from "../lib/menu.js";
import { spentOn } from "./spending.js";
import { settings } from "./settings.js";

/** @import { Looking } from "../app/looking.js" */
/** @import { Part } from "../app/drawing.js" */
/** @import { FigureActions } from "../figures/actions.js" */
/** @import { IconName } from "../lib/icon.js" */
/** @import { Operations } from "../lib/menu.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Loading } from "../server/loading.js" */
/** @import { Selectors } from "../state/selectors.js" */
/** @import { State } from "../state/state.js" */

/** @type {[string, IconName][]} */
const TABS = [
  ["outline", "list-tree"],
  ["talk", "message-square"],
  ["graph", "network"],
];
/** @type {[string, IconName][][]} What can be done with a flow, with all of them, and what puts one away. */
const FLOW = [
  [
    ["new_flow", "plus"],
    ["rename_flow", "pencil"],
    ["count_flow", "chart-column"],
  ],
  [
    ["rename_tag", "tag"],
    ["outside", "circle-dot"],
    ["show_archived", "eye"],
  ],
  [
    ["archive_flow", "folder"],
    ["unarchive_flow", "undo-2"],
    ["delete_flow", "trash"],
  ],
];

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} tabs
 * @param {Looking} looking
 * @param {Pick<Loading, "chooseFlow">} loading
 * @param {FigureActions} figures
 * @param {Pick<Selectors, "path">} selectors
 * @param {Operations} operations
 * @returns {Part}
 */
export function createHeader(root, tabs, looking, { chooseFlow }, { showFigures }, selectors, operations) {
  const { look } = looking;
  const pressed = (/** @type {boolean} */ on) => (on ? "true" : "false");
  return {
    draw(state, say) {
      const { view } = state;
      const tab = (/** @type {[string, IconName]} */ [name, sign]) =>
        html`<button type="button" data-tab=${name} aria-pressed=${pressed(name === view.tab)} @click=${() => look({ tab: name })}>${icon(sign)}<span>${say(name)}</span></button>`;
      render(
        html`<h1>nebula</h1>
          <div class="where">${where(state, say, chooseFlow)}${state.flow.nodes.length || state.flows.length > 1 ? menuOf("flow-menu", say("flow_menu"), FLOW, say, operations) : nothing}</div>
          <div id="tools">
            ${cost(state, selectors.path(state), say, () => showFigures())}
            ${iconButton("network", say("graph"), () => look({ graph: !view.graph }), { id: "toggle-graph", pressed: view.graph })}
            ${iconButton("terminal", say("backstage"), () => look({ drawer: !view.drawer }), { id: "toggle-backstage", pressed: view.drawer })}
            ${iconButton("chart-column", say("figures"), () => showFigures(), { id: "figures" })}
            <button type="button" class="icon-button" id="settings" popovertarget="settings-menu" aria-label=${say("settings")} data-tip=${say("settings")}>${icon("settings")}</button>
            <div class="menu" id="settings-menu" popover>${view.seen ? settings(view, say, looking) : nothing}</div>
          </div>`,
        root,
      );
      render(TABS.map(tab), tabs);
    },
  };
}

// The project, and the flow where there are several.
/** @param {State} state @param {Say} say @param {(flowId: string) => void} chooseFlow */
function where(state, say, chooseFlow) {
  const listed = state.flows.filter(({ id, archived }) => !archived || state.view.archived || id === state.flow.id);
  const flows = state.flow.problem ? [state.flow, ...listed] : listed; // one that cannot be read is in no list
  const option = (/** @type {{ id: string, name: string }} */ flow) =>
    html`<option value=${flow.id} .selected=${flow.id === state.flow.id}>${flow.name}</option>`;
  const { root } = state.project;
  const choose = (/** @type {Event} */ event) => chooseFlow(valueOf(event));
  return html`${root ? html`<b class="project" data-tip=${root}>${nameOf(root)}</b>` : nothing}
    <select id="flows" ?hidden=${flows.length < 2} aria-label=${say("flow")} @change=${choose}>${repeat(flows, (flow) => flow.id, option)}</select>`;
}

/** @param {string} root */
export function nameOf(root) {
  return root.split("/").findLast(Boolean) ?? root;
}

// What the conversation in sight cost, as far as it is known.
/** @param {State} state @param {string[]} path @param {Say} say @param {() => void} open */
function cost(state, path, say, open) {
  const { cost: spent, input, output, priced, known } = spentOn(path, state.bodies);
  if (!input && !output) return nothing;
  const more = known < path.length;
  const spentHere = more ? dollars(spent) : roughly(spent);
  const amount = priced ? spentHere : say("tokens_count", { count: short(input + output) });
  const tip = say(priced ? "cost_here" : "cost_unknown", { count: known, input: short(input), output: short(output) });
  return html`<button type="button" class="quiet cost" aria-label=${`${tip} ${amount}`} data-tip=${tip} @click=${open}>${more ? "≥ " : ""}${amount}</button>`;
}
