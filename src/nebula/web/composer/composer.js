// Where the next prompt is written, with what it continues. The text is kept until it is sent, whatever happens.
//
//   const composer = createComposer(form, page);
//   composer.draw(state, say);

import { html, nothing, render, repeat } from "../lib/lit.js";
import { draft, keepDraft } from "../lib/preferences.js";
import { continuing, isBusy } from "../state/reduce.js";

export function createComposer(form, page) {
  const box = () => form.querySelector("#prompt");
  const onkeydown = (event) => {
    // While an input method is composing, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    form.requestSubmit();
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const prompt = box().value;
    if (!prompt.trim() || form.querySelector("[type=submit]").disabled) return;
    if (await page.send(prompt)) {
      if (box().value === prompt) box().value = "";
      keepDraft(box().value);
    }
  });
  const first = draft();

  return {
    focus: () => box().focus(),
    draw(state, say) {
      const modes = state.modes.includes("chat") ? [] : state.modes;
      const { selected, merging, view } = state;
      render(
        html`<div class="chips">${chips(state, say, page)}</div>
          <textarea rows="3" id="prompt" placeholder=${say("prompt")} aria-label=${say("prompt")} @input=${() => keepDraft(box().value)} @keydown=${onkeydown}></textarea>
          <div class="controls">
            <select id="mode" aria-label=${say("mode")} ?hidden=${modes.length < 2} @change=${(event) => page.look({ mode: event.target.value })}>
              ${modes.map((mode) => html`<option value=${mode} .selected=${mode === view.mode}>${say(`mode_${mode}`)}</option>`)}
            </select>
            <button type="button" class="quiet" ?hidden=${selected === null} @click=${() => page.start()}>${say("new_talk")}</button>
            <button type="button" class="quiet" ?hidden=${selected === null || merging.includes(selected)} @click=${() => page.merge(selected)}>${say("merge")}</button>
            <button type="submit" class="primary" ?disabled=${state.status !== "open" || isBusy(state)}>${say("send")}</button>
          </div>`,
        form,
      );
      if (first && !form.dataset.filled) box().value = first;
      form.dataset.filled = "true";
      if (state.returned) {
        // Nothing typed meanwhile is lost either.
        box().value = [state.returned.prompt, box().value].filter((each) => each.trim()).join("\n\n");
        keepDraft(box().value);
        page.takenBack();
      }
    },
  };
}

function chips(state, say, page) {
  const from = continuing(state);
  if (!from.length) return html`<span class="hint">${say("starts_new")}</span>`;
  const title = (id) => state.briefs.get(id)?.title || "…";
  const drop = (id) => (state.merging.includes(id) ? page.unmerge(id) : page.start());
  return html`<span class="hint">${say("continuing")}</span>
    ${repeat(from, (id) => id, (id) => html`<span class="chip"><span class="name">${title(id)}</span><button type="button" aria-label=${say("remove", { title: title(id) })} @click=${() => drop(id)}>×</button></span>`)}${nothing}`;
}
