// Where the next prompt is written, with what it continues and what goes along. The text is kept until it is sent,
// whatever happens.
//
//   const composer = createComposer(form, page);
//   composer.draw(state, say);

import { fits, read } from "../lib/attachments.js";
import { html, render } from "../lib/lit.js";
import { draft, keepDraft } from "../lib/preferences.js";
import { isBusy, steerable } from "../state/reduce.js";
import { chips } from "./chips.js";
import { preview } from "./preview.js";

export const NODE = "application/x-nebula-node";

export function createComposer(form, page) {
  const box = () => form.querySelector("#prompt");
  const onkeydown = (event) => {
    // While an input method is composing, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    form.requestSubmit();
  };
  const attach = async (files) => {
    const chosen = [...files]; // the list of an input is emptied under us
    const failed = {};
    for (const file of chosen) {
      const why = fits(page.state.composing.attached, file)
        ? await read(file).then(page.attach, (problem) => problem.message)
        : "attach_large";
      if (why) (failed[why] ??= []).push(file.name);
    }
    page.tellAll(
      Object.entries(failed).map(([why, names]) => page.say(why, { name: names.join(", "), count: names.length })),
    );
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const prompt = box().value;
    if (!prompt.trim() || form.querySelector("[type=submit]").disabled) return;
    const turn = steerable(page.state);
    if (await (turn ? page.steer(turn.traceId, prompt) : page.send(prompt))) {
      if (box().value === prompt) box().value = "";
      keepDraft(box().value);
    }
  });
  followDrops(form, page, attach);
  form.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    attach(files);
  });
  const first = draft();

  return {
    focus: () => box().focus(),
    prompt: () => box().value,
    draw(state, say) {
      render(
        html`${preview(state, say, page)}
          <div class="chips">${chips(state, say, page)}</div>
          <div class="box">
            <textarea rows="2" id="prompt" placeholder=${say(steerable(state) ? "prompt_steer" : "prompt")} aria-label=${say("prompt")} @input=${() => keepDraft(box().value)} @keydown=${onkeydown}></textarea>
            <div class="controls">${controls(state, say, page, attach, () => box().value)}</div>
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

function controls(state, say, page, attach, prompt) {
  const { composing, view, project } = state;
  const modes = state.modes.includes("chat") ? [] : state.modes;
  const pick = (event) => {
    attach(event.target.files);
    event.target.value = "";
  };
  return html`<label class="attach" title=${say("attach")}><input type="file" multiple class="hidden" aria-label=${say("attach")} @change=${pick}><span aria-hidden="true">＋</span></label>
    <select id="mode" aria-label=${say("mode")} ?hidden=${modes.length < 2} @change=${(event) => page.look({ mode: event.target.value })}>
      ${modes.map((mode) => html`<option value=${mode} .selected=${mode === view.mode}>${say(`mode_${mode}`)}</option>`)}
    </select>
    <select id="model" aria-label=${say("model")} @focus=${() => state.models.length || page.loadModels()} @pointerdown=${() => state.models.length || page.loadModels()} @change=${(event) => page.chooseModel(event.target.value)}>
      <option value="" .selected=${composing.model === ""}>${project.model || say("model")}</option>
      ${named(state).map((model) => html`<option value=${model} .selected=${model === composing.model}>${model}</option>`)}
    </select>
    <button type="button" class="quiet" ?disabled=${state.status !== "open"} aria-expanded=${state.preview ? "true" : "false"} @click=${() => (state.preview ? page.closePreview() : page.preview(prompt()))}>${say("preview")}</button>
    ${submit(state, say)}`;
}

// While a turn is at work here, what is typed goes into it.
function submit(state, say) {
  const act = steerable(state) ? "steer" : "send";
  const waits = act === "send" && isBusy(state);
  return html`<button type="submit" class="primary" data-act=${act} title=${say(`${act}_hint`)} ?disabled=${state.status !== "open" || waits}>${say(act)}</button>`;
}

// Those that the server lists, and the chosen one before it has said so.
function named({ models, composing, project }) {
  const others = models.filter((model) => model !== `openai/${project.model}`);
  return composing.model && !others.includes(composing.model) ? [composing.model, ...others] : others;
}

// Files go along; turns dragged here from outline or graph are shown to the model beside the path.
function followDrops(form, page, attach) {
  const wanted = (event) => event.dataTransfer?.types.includes("Files") || event.dataTransfer?.types.includes(NODE);
  form.addEventListener("dragover", (event) => {
    if (!wanted(event)) return;
    event.preventDefault();
    form.classList.add("dropping");
  });
  form.addEventListener("dragleave", () => form.classList.remove("dropping"));
  form.addEventListener("drop", (event) => {
    form.classList.remove("dropping");
    if (!wanted(event)) return;
    event.preventDefault();
    const id = event.dataTransfer.getData(NODE);
    if (id) page.refer(id);
    else attach(event.dataTransfer.files);
  });
}
