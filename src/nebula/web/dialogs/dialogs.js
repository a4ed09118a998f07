// What opens over the page: the sheet of keys and the command palette, both out of the table of commands, and the name of
// a flow.

import { COMMANDS, possible } from "../commands.js";
import { html, nothing, render, repeat } from "../lib/lit.js";

export function createDialogs(root, page) {
  const view = { shown: "", text: "", active: 0 };
  root.addEventListener("close", () => root.open || page.look({ dialog: "" })); // another may be open by then
  const run = (command) => {
    root.close();
    page.look({ dialog: "" });
    command.run(page);
    page.drawNow(); // what is typed next belongs to what it opened
  };
  const redraw = () => draw(page.state, page.say);
  const onkeydown = (event, found) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) view.active = (view.active + step + found.length) % Math.max(1, found.length);
    else if (event.key === "Enter" && found[view.active]) run(found[view.active]);
    else return;
    event.preventDefault();
    redraw();
  };

  function palette(state, say) {
    const wanted = view.text.toLowerCase();
    const found = possible(state).filter((command) => say(`cmd_${command.name}`).toLowerCase().includes(wanted));
    const active = found[view.active];
    return html`<h2 id="dialog-title">${say("palette")}</h2>
      <input type="text" autocomplete="off" role="combobox" aria-expanded="true" aria-controls="palette-list" placeholder=${say("palette_hint")} aria-label=${say("palette_hint")}
        aria-activedescendant=${active ? `command-${active.name}` : nothing}
        @input=${(event) => {
          Object.assign(view, { text: event.target.value, active: 0 });
          redraw();
        }} @keydown=${(event) => onkeydown(event, found)}>
      <ul id="palette-list" role="listbox" aria-label=${say("palette")}>
        ${repeat(found, (command) => command.name, (command) => html`<li id=${`command-${command.name}`} role="option" aria-selected=${command === active ? "true" : "false"} @click=${() => run(command)}>${say(`cmd_${command.name}`)}${keys(command)}</li>`)}
      </ul>
      ${found.length ? nothing : html`<p>${say("no_commands")}</p>`}`;
  }

  function help(say) {
    const shown = COMMANDS.filter((command) => command.keys.length);
    return html`<div class="bar"><h2 id="dialog-title">${say("help")}</h2><button type="button" @click=${() => root.close()}>${say("close")}</button></div>
      <dl>${shown.map((command) => html`<div><dt>${keys(command)}</dt><dd>${say(`cmd_${command.name}`)}</dd></div>`)}</dl>`;
  }

  function naming(state, say) {
    const renaming = state.view.dialog === "rename_flow";
    const submit = (event) => {
      event.preventDefault();
      const name = event.target.elements.name.value.trim();
      if (!name) return;
      root.close();
      if (renaming) page.renameFlow(name);
      else page.createFlow(name);
    };
    return html`<h2 id="dialog-title">${say(`cmd_${state.view.dialog}`)}</h2>
      <form @submit=${submit}>
        <input name="name" type="text" autocomplete="off" required aria-label=${say("flow_name")} .value=${renaming ? state.flow.name : ""}>
        <button type="submit" class="primary">${say("save")}</button>
      </form>`;
  }

  function building(state, say) {
    const begin = () => {
      root.close();
      page.build();
    };
    return html`<h2 id="dialog-title">${say("build")}</h2>
      <p>${say("ask_build", { count: state.view.due.length })}</p>
      <button type="button" class="primary" @click=${begin}>${say("yes")}</button> <button type="button" @click=${() => root.close()}>${say("no")}</button>`;
  }

  const SHEETS = { build: building, palette, help: (_, say) => help(say), new_flow: naming, rename_flow: naming };

  function draw(state, say) {
    const { dialog } = state.view;
    if (dialog !== view.shown) Object.assign(view, { shown: dialog, text: "", active: 0 });
    render(dialog ? SHEETS[dialog](state, say) : nothing, root);
    if (dialog && !root.open) root.showModal();
    else if (!dialog && root.open) root.close();
  }
  return { draw };
}

function keys(command) {
  return command.keys.map((key) => html` <kbd>${key === "Ctrl+Z" ? "Ctrl+Shift+z" : key}</kbd>`);
}
