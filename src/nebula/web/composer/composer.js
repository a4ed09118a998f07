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
        html`${preview(state, say, page)}
          <div class="chips">${chips(state, say, page)}</div>
          <textarea rows="3" id="prompt" placeholder=${say("prompt")} aria-label=${say("prompt")} @input=${() => keepDraft(box().value)} @keydown=${onkeydown}></textarea>
          <div class="controls">
            <select id="mode" aria-label=${say("mode")} ?hidden=${modes.length < 2} @change=${(event) => page.look({ mode: event.target.value })}>
              ${modes.map((mode) => html`<option value=${mode} .selected=${mode === view.mode}>${say(`mode_${mode}`)}</option>`)}
            </select>
            <button type="button" class="quiet" ?hidden=${selected === null} @click=${() => page.start()}>${say("new_talk")}</button>
            <button type="button" class="quiet" ?hidden=${selected === null || merging.includes(selected)} @click=${() => page.merge(selected)}>${say("merge")}</button>
            <button type="button" class="quiet" ?disabled=${state.status !== "open"} aria-expanded=${state.preview ? "true" : "false"} @click=${() => (state.preview ? page.closePreview() : page.preview(box().value))}>${say("preview")}</button>
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

// What the model would be sent, part by part.
function preview({ preview: found, briefs }, say, page) {
  if (!found) return nothing;
  const title = (id) => briefs.get(id)?.title || id.slice(0, 8);
  page.briefs(found.parts.map((part) => part.node_id).filter((id) => id && !briefs.has(id)));
  const known = found.exact ? "" : "≈ ";
  return html`<section class="preview" aria-label=${say("preview")}>
    <p><b>${say("preview_total", { tokens: `${known}${found.total_tokens + found.frame_tokens}`, budget: found.budget, count: found.parts.length })}</b>${found.left_out.length ? ` ${say("left_out", { count: found.left_out.length })}` : ""}<button type="button" class="quiet" aria-label=${say("close")} @click=${() => page.closePreview()}>×</button></p>
    ${found.parts.map((part) => html`<details><summary>${part.node_id ? title(part.node_id) : ""} · ${say(`form_${part.form}`)} · ${part.tokens}</summary><pre tabindex="0">${part.text}</pre></details>`)}
  </section>`;
}

function chips(state, say, page) {
  const from = continuing(state);
  if (!from.length) return html`<span class="hint">${say("starts_new")}</span>`;
  const title = (id) => state.briefs.get(id)?.title || "…";
  const drop = (id) => (state.merging.includes(id) ? page.unmerge(id) : page.start());
  return html`<span class="hint">${say("continuing")}</span>
    ${repeat(from, (id) => id, (id) => html`<span class="chip"><span class="name">${title(id)}</span><button type="button" aria-label=${say("remove", { title: title(id) })} @click=${() => drop(id)}>×</button></span>`)}${nothing}`;
}
