// Where the next prompt is written, with what it continues. The text is kept until it is sent, whatever happens.
//
//   const composer = createComposer(form, { say, send, start, merge, unmerge });
//   composer.draw(state);

import { element } from "../lib/dom.js";
import { draft, keepDraft } from "../lib/preferences.js";
import { continuing, isBusy } from "../state/reduce.js";

export function createComposer(form, actions) {
  const chips = element("div", { class: "chips" });
  const text = element("textarea", { rows: "3", id: "prompt", value: draft() });
  const mode = element("select", { id: "mode" });
  const start = element("button", { type: "button", class: "quiet", onclick: () => actions.start() });
  const merge = element("button", { type: "button", class: "quiet", onclick: () => actions.merge(merge.dataset.id) });
  const send = element("button", { type: "submit", class: "primary" });
  form.append(chips, text, element("div", { class: "controls" }, mode, start, merge, send));
  text.addEventListener("input", () => keepDraft(text.value));
  text.addEventListener("keydown", (event) => {
    // While an input method is composing, Enter belongs to it.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const prompt = text.value;
    if (!prompt.trim() || send.disabled) return;
    if (await actions.send(prompt, mode.value)) {
      if (text.value === prompt) text.value = "";
      keepDraft(text.value);
    }
  });
  const view = { modes: "" };
  return {
    focus: () => text.focus(),
    draw(state) {
      const say = actions.say();
      if (state.returned) {
        // Nothing typed meanwhile is lost either.
        text.value = [state.returned.prompt, text.value].filter((each) => each.trim()).join("\n\n");
        keepDraft(text.value);
        actions.takenBack();
      }
      text.placeholder = say("prompt");
      text.setAttribute("aria-label", say("prompt"));
      start.textContent = say("new_talk");
      start.hidden = state.selected === null;
      merge.textContent = say("merge");
      merge.hidden = state.selected === null || state.merging.includes(state.selected);
      merge.dataset.id = state.selected ?? "";
      send.textContent = say("send");
      send.disabled = state.status !== "open" || isBusy(state);
      drawModes(view, mode, state.modes, say);
      chips.replaceChildren(...drawChips(state, say, actions));
    },
  };
}

function drawModes(view, mode, modes, say) {
  const offered = modes.includes("chat") ? [] : modes;
  mode.hidden = offered.length < 2;
  mode.setAttribute("aria-label", say("mode"));
  const wanted = `${offered.join()} ${say("mode_agent")}`;
  if (view.modes === wanted) return;
  view.modes = wanted;
  const chosen = mode.value;
  mode.replaceChildren(...offered.map((each) => element("option", { value: each }, say(`mode_${each}`))));
  if (offered.includes(chosen)) mode.value = chosen;
}

function drawChips(state, say, actions) {
  const from = continuing(state);
  if (!from.length) return [element("span", { class: "hint" }, say("starts_new"))];
  const title = (id) => state.briefs.get(id)?.title || "…";
  const chips = from.map((id) => {
    const label = say("remove", { title: title(id) });
    const drop = state.merging.includes(id) ? () => actions.unmerge(id) : () => actions.start();
    return element("span", { class: "chip" }, element("span", { class: "name" }, title(id)), element("button", { type: "button", "aria-label": label, onclick: drop }, "×"));
  });
  return [element("span", { class: "hint" }, say("continuing")), ...chips];
}
