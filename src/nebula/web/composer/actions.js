// What goes along with the next prompt, what it would send, and sending it.

import { keepModel } from "../app/preferences.js";
import { continuing } from "../state/here.js";

/** @import { Attached, Composing } from "./composing.js" */
/** @import { Asking, Store } from "../server/asking.js" */

/** @param {Store} store @param {Asking} asking */
export function createComposing(store, { ask, attempt, tellAll }) {
  const mode = () => (store.state.modes.includes("chat") ? "" : store.state.view.mode);
  const flowId = () => store.state.flow.id || store.state.flowId;
  return {
    tellAll,
    /** @param {string} id */
    refer: (id) => store.change("refer", { id }),
    /** @param {string} id */
    unrefer: (id) => store.change("unrefer", { id }),
    /** @param {string} id */
    referInstead(id) {
      store.change("unmerge", { id });
      store.change("refer", { id });
    },
    /** @param {string} id */
    leaveOut: (id) => store.change(store.state.composing.references.includes(id) ? "unrefer" : "leave_out", { id }),
    /** @param {string} id */
    takeIn: (id) => store.change("take_in", { id }),
    /** @param {Attached} attached */
    attach: (attached) => store.change("attach", { attached }),
    attached: () => store.state.composing.attached,
    /** @param {number} place */
    detach: (place) => store.change("detach", { place }),
    /** @param {string} model */
    chooseModel(model) {
      keepModel(model);
      store.change("model", { model });
    },
    // Those of files at once; the prompts of MCP servers when these have started.
    loadCommands: () =>
      attempt(async () => {
        store.change("commands", await ask("list_commands"));
        store.change("commands", await ask("list_commands", { servers: true }));
      }),
    /** @param {string} text @returns {Promise<string | null>} The prompt that it stands for; null where it stands for none. */
    async expand(text) {
      /** @type {string | null} */
      let prompt = null;
      await attempt(async () => {
        ({ prompt } = await ask("expand_command", { text }));
      });
      return prompt;
    },
    loadModels: () => attempt(async () => store.change("models", await ask("list_models"))),
    switchMode: () => store.change("view", { to: { mode: store.state.view.mode === "plan" ? "agent" : "plan" } }),
    // The prompt is shown at once; where it could not be sent, it goes back to the box.
    /** @param {string} prompt @param {string[]} from @param {Composing} composing What goes along. */
    async send(prompt, from = continuing(store.state), composing = store.state.composing) {
      const data = {
        prompt,
        from,
        flow_id: flowId(),
        lang: document.documentElement.lang,
        ...alongWith(composing),
        ...attachments(composing),
        ...(composing.again && !from.length ? { again: composing.again } : {}),
        ...(mode() ? { mode: mode() } : {}),
      };
      store.change("sending", { prompt, from });
      const done = await attempt(async () => {
        const { trace_id: traceId } = await ask("send_prompt", data);
        store.change("sent", { traceId, composing, prompt, from, flowId: data.flow_id, now: Date.now() });
      });
      if (!done) store.change("unsent", { prompt });
      return done;
    },
    takenBack: () => store.change("taken_back"),
    // What would be sent with this prompt, by the code that sends it.
    /** @param {string} prompt */
    preview: (prompt) =>
      attempt(async () => {
        const from = continuing(store.state);
        const { composing } = store.state;
        const data = {
          node_ids: from,
          prompt,
          ...alongWith(composing),
          ...attachments(composing),
          ...(mode() ? { mode: mode() } : {}),
          ...(from.length ? { flow_id: flowId() } : {}),
        };
        store.change("preview", { preview: { from, ...(await ask("preview_context", data)) } });
      }),
    closePreview: () => store.change("preview", { preview: null }),
  };
}
/** @typedef {ReturnType<typeof createComposing>} ComposingActions */

// What goes with a prompt, and with a look at what it would send.
/** @param {Composing} composing */
function alongWith({ model, references, without }) {
  return {
    ...(model ? { model } : {}),
    ...(references.length ? { references } : {}),
    ...(without.length ? { without } : {}),
  };
}

/** @param {Composing} composing */
function attachments({ attached }) {
  const images = attached.filter((each) => each.image).map(({ name, data }) => ({ name, data }));
  const files = attached.filter((each) => !each.image).map(({ name, data }) => ({ name, text: data }));
  return { ...(images.length ? { images } : {}), ...(files.length ? { files } : {}) };
}
