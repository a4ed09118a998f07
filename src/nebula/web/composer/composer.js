// Where the next prompt is written, with what it continues and what goes along. The text is kept until it is sent,
// whatever happens.

import { draft, keepDraft } from "../app/preferences.js";
import { isEnter, valueOf } from "../lib/dom.js";
import { icon, iconButton } from "../lib/icon.js";
import { html, nothing, render } from "../lib/lit.js";
import { allowedMark } from "../permissions/permissions.js";
import { canSend, continuing, isBusy, steerable, turnHere } from "../state/here.js";
import { fits, read } from "./attachments.js";
import { attachments, chips } from "./chips.js";
import { answering, namedModels } from "./composing.js";
import { preview } from "./preview.js";
import { createSlash } from "./slash.js";
import { isTypedCommand } from "./typed.js";

/** @import { Say } from "../lib/words.js" */
/** @import { State } from "../state/state.js" */
/** @import { ChipActions } from "./chips.js" */
/** @import { ComposingActions } from "./actions.js" */
/** @import { TurnActions } from "../transcript/actions.js" */

export const NODE = "application/x-nebula-node";

/** @param {HTMLFormElement} form @param {ChipActions} actions @param {{ readonly state: State }} store */
export function createComposer(form, actions, store) {
  const { composing, turns } = actions;
  const box = () => /** @type {HTMLTextAreaElement} */ (form.querySelector("#prompt"));
  /** @type {Say} */
  let say;
  const slash = createSlash(box, () => store.state, {
    load: composing.loadCommands,
    find: actions.files.find,
    changed: () => draw(store.state, say),
  });
  const oninput = () => {
    keepDraft(box().value);
    slash.typed();
  };
  const onkeydown = (/** @type {KeyboardEvent} */ event) => {
    if (slash.pressed(event)) return;
    if (!isEnter(event) || event.shiftKey) return;
    event.preventDefault();
    form.requestSubmit();
  };
  const attach = (/** @type {Iterable<File>} */ files) => attachAll(files, composing, say);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const typed = box().value;
    const button = /** @type {HTMLButtonElement} */ (form.querySelector("[type=submit]"));
    if (actions.permissions.typed(typed)) {
      box().value = "";
      keepDraft("");
    }
    if (!box().value.trim() || button.disabled) return;
    const prompt = isTypedCommand(typed) ? await composing.expand(typed) : typed;
    if (prompt === null || box().value !== typed) return; // it was told why, or is typed on
    const turn = steerable(store.state);
    if (!turn) box().value = ""; // it stands in the conversation at once; the draft is kept until the server has it
    if (!(await (turn ? turns.steer(turn.traceId, prompt) : composing.send(prompt)))) return;
    if (box().value === typed) box().value = "";
    keepDraft(box().value);
  });
  followDrops(form, composing, attach);
  form.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    attach(files);
  });
  const first = draft();
  const race = () =>
    actions.races.show(box().value, () => {
      box().value = "";
      keepDraft("");
    });

  const write = () => form.querySelector(".several") && box().focus();

  /** @param {State} state @param {Say} words */
  function draw(state, words) {
    say = words;
    const isThere = form.querySelector("#prompt") !== null;
    const { commands, found } = state; // those that come later are drawn, too
    const active = (commands.length || found.text) && isThere ? slash.active() : null;
    render(
      html`${preview(state, words, composing, actions.loading)}
        <div class="chips ${isPlain(state) ? "plainly" : ""}">${chips(state, words, { ...actions, write })}</div>
        <div class="box">
          ${isThere ? slash.draw(words) : nothing} ${attachments(state, words, composing)}
          <textarea rows="1" id="prompt" placeholder=${words(steerable(state) ? "prompt_steer" : "prompt")} aria-label=${words("prompt")} aria-autocomplete="list" aria-controls=${active ? "slash-list" : nothing} aria-activedescendant=${active ?? nothing} @input=${oninput} @keydown=${onkeydown}></textarea>
          ${controls(state, words, actions, attach, () => box().value, race)}
        </div>`,
      form,
    );
    // A question has a field of its own; what is being written here stays in sight.
    form.hidden = Boolean(turnHere(state)?.ask) && !box().value;
    if (first && !form.dataset.filled) box().value = first;
    form.dataset.filled = "true";
    if (state.returned) {
      // Nothing typed meanwhile is lost either.
      box().value = [state.returned.prompt, box().value].filter((each) => each.trim()).join("\n\n");
      keepDraft(box().value);
      composing.takenBack();
    }
  }
  return { focus: () => box().focus(), prompt: () => box().value, race, draw };
}

/** @param {Iterable<File>} files @param {ComposingActions} composing @param {Say} say */
async function attachAll(files, composing, say) {
  const chosen = [...files]; // the list of an input is emptied under us
  /** @type {Record<string, string[]>} */
  const failed = {};
  for (const file of chosen) {
    const why = fits(composing.attached(), file)
      ? await read(file).then(composing.attach, (problem) => problem.message)
      : "attach_large";
    if (why) (failed[why] ??= []).push(file.name);
  }
  composing.tellAll(
    Object.entries(failed).map(([why, names]) => say(why, { name: names.join(", "), count: names.length })),
  );
}

// Whether the next prompt just continues the conversation, or begins one.
/** @param {State} state */
function isPlain(state) {
  return continuing(state).length < 2 && !state.composing.references.length && !state.merging.length;
}

/** @param {State} state @param {Say} say @param {ChipActions} actions @param {(files: Iterable<File>) => void} attach @param {() => string} prompt @param {() => void} race */
function controls(state, say, { composing: actions, looking, permissions, turns }, attach, prompt, race) {
  const { composing, view } = state;
  const modes = state.modes.includes("chat") ? [] : state.modes;
  const pick = (/** @type {Event} */ event) => {
    const input = /** @type {HTMLInputElement} */ (event.target);
    attach(input.files ?? []);
    input.value = "";
  };
  const loadModels = () => state.models.length || actions.loadModels();
  const mode = (/** @type {string} */ name) =>
    html`<option value=${name} .selected=${name === view.mode}>${say(`mode_${name}`)}</option>`;
  const model = (/** @type {string} */ name) =>
    html`<option value=${name} .selected=${name === composing.model}>${name}</option>`;
  const look = () => (state.preview ? actions.closePreview() : actions.preview(prompt()));
  return html`<label class="attach" data-tip=${say("attach")}><input type="file" multiple class="hidden" aria-label=${say("attach")} @change=${pick}>${icon("plus")}</label>
    <div class="choices"><select id="mode" aria-label=${say("mode")} ?hidden=${modes.length < 2} @change=${(/** @type {Event} */ event) => looking.look({ mode: valueOf(event) })}>${modes.map(mode)}</select>
    <select id="model" aria-label=${say("model")} @focus=${loadModels} @pointerdown=${loadModels} @change=${(/** @type {Event} */ event) => actions.chooseModel(valueOf(event))}>
      <option value="" .selected=${composing.model === ""}>${answering(state.project.model, state.current) || say("model")}</option>
      ${namedModels(state.models, state.current, composing.model).map(model)}
    </select>
    ${allowedMark(state, say, permissions.show)}
    <span class="others">${state.project.root ? raceButton(state, say, race) : nothing}
    <button type="button" class="quiet" ?disabled=${state.status !== "open"} data-tip=${say("preview_hint")} aria-expanded=${state.preview ? "true" : "false"} @click=${look}>${icon("eye")}<span class="word">${say("preview")}</span></button></span></div>
    <div class="sends">${stop(state, say, turns)} ${submit(state, say)}</div>`;
}

/** @param {State} state @param {Say} say @param {Pick<TurnActions, "stop">} turns */
function stop(state, say, turns) {
  const turn = isBusy(state) ? turnHere(state) : null;
  if (!turn) return nothing;
  const act = (/** @type {Event} */ event) => {
    const button = /** @type {HTMLElement} */ (event.currentTarget);
    button.closest("form")?.querySelector("textarea")?.focus(); // the button goes away, and must not take the focus along
    turns.stop(turn.traceId);
  };
  return iconButton("square", say("stop"), act, { kind: "stop", disabled: turn.stopping });
}

// Several tries of the prompt; while they work, the way back to them.
/** @param {State} state @param {Say} say @param {() => void} show */
function raceButton({ race, status }, say, show) {
  const count = race?.tries.length ?? 0;
  const done = race?.tries.filter((each) => each.status).length ?? 0;
  const words =
    race && !race.isOver
      ? html`<span class="hidden">${say("race_done", { done, count })}</span><span class="counting" aria-hidden="true">${done}/${count}</span>`
      : html`<span class="word">${say("race")}</span>`;
  return html`<button type="button" class="quiet" id="race" data-tip=${say("cmd_race")} ?disabled=${status !== "open"} @click=${show}>${icon("flag")}${words}</button>`;
}

// While a turn is at work here, what is typed goes into it.
/** @param {State} state @param {Say} say */
function submit(state, say) {
  const act = steerable(state) ? "steer" : "send";
  const isReady = act === "send" ? canSend(state) : state.status === "open";
  return html`<button type="submit" class="primary" data-act=${act} aria-label=${say(act)} data-tip=${say(`${act}_hint`)} ?disabled=${!isReady}>${icon("arrow-up")}</button>`;
}

// Files go along, wherever on the page they are dropped: a browser would leave it and open them. Turns dragged to the box from
// outline or graph are shown to the model beside the path.
/** @param {HTMLFormElement} form @param {Pick<ComposingActions, "refer">} composing @param {(files: Iterable<File>) => void} attach */
function followDrops(form, { refer }, attach) {
  const isWanted = (/** @type {DragEvent} */ { dataTransfer, target }) =>
    Boolean(
      dataTransfer?.types.includes("Files") ||
      (dataTransfer?.types.includes(NODE) && form.contains(/** @type {Node} */ (target))),
    );
  const show = (/** @type {boolean} */ on) => form.classList.toggle("dropping", on);
  addEventListener("dragover", (event) => {
    const wanted = isWanted(event);
    show(wanted);
    if (wanted) event.preventDefault();
  });
  addEventListener("dragleave", ({ relatedTarget }) => relatedTarget === null && show(false));
  addEventListener("drop", (event) => {
    show(false);
    if (!isWanted(event) || !event.dataTransfer) return;
    event.preventDefault();
    const id = event.dataTransfer.getData(NODE);
    if (id) refer(id);
    else attach(event.dataTransfer.files);
  });
}
