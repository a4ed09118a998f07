// What the page asks of the server, and where the answers go: into the state.

import { questionsAt } from "./address.js";
import { createLookActions } from "./look_actions.js";
import { placeIn } from "./preferences.js";

const AT_ONCE = 200;
const MOST_HITS = 1000;
const BUILT_AT_ONCE = 2;
const NOTICE_MS = 6000;
const OFFER_MS = 20_000;
const UNREADABLE = "bad_file";
const UNDONE_BY_CLICK = new Set(["connected", "disconnected", "deleted"]);

/** @import { Composing } from "../state/composing.js" */
/** @import { Brief, Filters, Offer, State } from "../state/reduce.js" */
/** @import { Link, Failure } from "./link.js" */
/** @import { Say } from "./words.js" */
/** @typedef {{ readonly state: State, change: (kind: string, details?: Record<string, any>) => void }} Store */

/**
 * @param {Store} store
 * @param {() => Link} link
 * @param {() => Say} say
 */
export function createServerActions(store, link, say) {
  /** @type {Set<string>} */
  const asked = new Set();
  let refreshing = false;
  let notices = 0;
  let searches = 0;

  /** @param {string} text @param {Offer | null} offer */
  function notice(text, offer = null) {
    const number = ++notices;
    store.change("notice", { text, offer });
    setTimeout(() => number === notices && store.change("notice", { text: "" }), offer ? OFFER_MS : NOTICE_MS);
  }

  // False when it failed; the reason is shown, unless the line is lost, which the banner says already.
  /** @param {() => Promise<any>} work */
  async function attempt(work) {
    try {
      await work();
      return true;
    } catch (problem) {
      const error = /** @type {Failure} */ (problem);
      if (!error.code) throw error;
      if (error.code === "busy") notice(say()("busy"));
      else if (error.code !== "lost") notice(say()("failed", { message: error.message }));
      return false;
    }
  }

  // `node`: the turn to choose, where the address names one.
  /** @param {string | null} node */
  async function loadFlow(node = null) {
    const wanted = store.state.flowId;
    const { flow: before } = store.state;
    store.change("asking");
    const [flow, first, all] = questionsAt(wanted, node).map(({ action, data }) => link().ask(action, data));
    const titles = first.catch(() => ({ nodes: [] })); // those that are missing are asked for anyway
    attempt(async () => store.change("flows", { flows: (await all).flows })); // for the choice of a flow: nothing waits for it
    const found = await flow.catch(unlessNotShown);
    if (wanted !== store.state.flowId) return; // another flow was chosen meanwhile
    // What was heard while the answer was on its way may be newer than the answer: then it is asked for again.
    if (store.state.flow !== before) store.change("outdated");
    if (!found.ids) {
      store.change("flow", { flow: { id: "", name: wanted, nodes: [], connections: [], problem: found.problem } });
      return;
    }
    const { flow_id: id, name, ids, pairs } = found;
    const connections = pairs.map((/** @type {[number, number]} */ [source, target]) => ({
      source: ids[source],
      target: ids[target],
    }));
    const place = node ?? (store.state.flow.id !== id && store.state.selected === null ? placeIn(id) : null);
    store.change("flow", { flow: { id, name, nodes: ids, connections }, place });
    store.change("briefs", { nodes: (await titles).nodes });
  }

  /** @param {string} action @param {string} done @param {string} otherwise */
  function edited(action, done, otherwise) {
    return attempt(async () => notice(say()((await link().ask(action)).done ? done : otherwise)));
  }

  /** @param {string} word @param {string} action @param {Record<string, any>} data */
  function changed(word, action, data) {
    return attempt(async () => {
      await link().ask(action, data);
      notice(say()(word), UNDONE_BY_CLICK.has(word) ? { undo: "edit" } : null);
    });
  }

  return {
    // What is told at once is told together: a notice takes the place of the one before.
    tellAll: (/** @type {string[]} */ texts) => texts.length && notice(texts.join(" ")),
    tell: (/** @type {string} */ word, /** @type {Record<string, any>} */ values = {}) => notice(say()(word, values)),
    ...createLookActions({ store, link, say, attempt, notice }),
    /** @param {{ modes: string[], turns: any[], root?: string, editor_url?: string, model?: string }} hello @param {boolean} resumed @param {string | null} node */
    async arrive(hello, resumed, node) {
      const { modes, turns, model } = hello;
      const project =
        model === undefined ? undefined : { root: hello.root ?? "", editorUrl: hello.editor_url ?? "", model };
      store.change("hello", { modes, project, turns, resumed, now: Date.now() });
      asked.clear();
      if (!resumed) await attempt(() => loadFlow(store.state.flow.id ? null : node));
    },
    async refresh() {
      if (refreshing) return;
      refreshing = true;
      const done = await attempt(() => loadFlow());
      if (!done && store.state.status !== "open") store.change("outdated"); // again when the line is back
      refreshing = false;
    },
    /** @param {string} flowId @param {string | null} node */
    async chooseFlow(flowId, node = null) {
      store.change("choose_flow", { flowId });
      await attempt(() => loadFlow(node));
    },
    // Short forms for rows in sight; each is asked for once.
    /** @param {string[]} ids */
    async briefs(ids) {
      const wanted = ids.filter((id) => !asked.has(id)).slice(0, AT_ONCE);
      if (!wanted.length || store.state.status !== "open") return;
      for (const id of wanted) asked.add(id);
      await attempt(async () => store.change("briefs", await link().ask("get_nodes", { node_ids: wanted })));
      for (const id of wanted) asked.delete(id);
    },
    /** @param {string[]} ids */
    async bodies(ids) {
      for (const id of ids) {
        const key = `body ${id}`;
        if (asked.has(key) || store.state.status !== "open") continue;
        asked.add(key);
        attempt(async () =>
          store.change("body", { node: await link().ask("get_node", { node_id: id }).catch(unreadable(id)) }),
        ).then(() => asked.delete(key));
      }
    },
    /** @param {string} text @param {Filters} filters */
    async search(text, filters = store.state.search.filters) {
      const number = ++searches;
      const wanted = Object.fromEntries(Object.entries(filters).filter(([, each]) => each));
      if (!text.trim() && !Object.keys(wanted).length) {
        store.change("search", { text: "", filters: {}, hits: null });
        return;
      }
      await attempt(async () => {
        const { tag, ...others } = wanted;
        const data = { text, ...(tag ? { tags: [tag] } : {}), ...others, brief: true, limit: MOST_HITS };
        const { nodes, total } = await link().ask("search_nodes", data);
        if (number !== searches) return; // it was changed, or ended, meanwhile
        store.change("briefs", { nodes });
        store.change("search", { text, filters, hits: nodes.map((/** @type {Brief} */ node) => node.id), total });
      });
    },
    /** @param {string} prompt @param {string} mode @param {string[]} from @param {Composing} composing What goes along. */
    send(prompt, mode, from, composing = store.state.composing) {
      const { flow, flowId } = store.state;
      const data = {
        prompt,
        from,
        flow_id: flow.id || flowId,
        lang: document.documentElement.lang,
        ...alongWith(composing),
        ...attachments(composing),
      };
      return attempt(async () => {
        const { trace_id: traceId } = await link().ask("send_prompt", mode ? { ...data, mode } : data);
        store.change("sent", { traceId, composing });
      });
    },
    // Into a turn at work, which hears it before its next round.
    /** @param {string} traceId @param {string} text */
    steer: (traceId, text) =>
      attempt(async () => {
        const { steering_id: steeringId } = await link().ask("steer", { trace_id: traceId, text });
        store.change("steered", { steeringId });
      }),
    /** @param {string} approvalId @param {string} decision @param {{ paths?: string[], hunks?: number[] }} part */
    approve: (approvalId, decision, part = {}) =>
      attempt(() => link().ask("approve", { approval_id: approvalId, decision, ...part })),
    /** @param {string} traceId */
    stop(traceId) {
      store.change("stopping", { traceId });
      return attempt(() => link().ask("cancel", { trace_id: traceId }));
    },
    // Changes of the graph; each can be undone, and is heard of by an event like anybody's.
    /** @param {string} source @param {string} target */
    connect: (source, target) =>
      changed("connected", "connect_nodes", { source_id: source, target_id: target, flow_id: store.state.flow.id }),
    /** @param {string} source @param {string} target */
    disconnect: (source, target) =>
      changed("disconnected", "disconnect_nodes", {
        source_id: source,
        target_id: target,
        flow_id: store.state.flow.id,
      }),
    /** @param {string} id */
    remove: (id) => changed("deleted", "delete_node", { node_id: id }),
    /** @param {string} id @param {string[]} tags */
    tag: (id, tags) => changed("tagged", "update_node", { node_id: id, tags }),
    /** @param {string} name */
    renameFlow: (name) => changed("renamed", "update_flow", { flow_id: store.state.flow.id, name }),
    /** @param {string} name */
    async createFlow(name) {
      if (await changed("flow_made", "create_flow", { name })) await this.chooseFlow(name);
    },
    undo: () => edited("undo", "undone", "nothing_to_undo"),
    /** @param {Offer} offer */
    takeUp(offer) {
      return offer.undo === "edit" ? this.undo() : this.giveFilesBack(offer.taken);
    },
    redo: () => edited("redo", "redone", "nothing_to_redo"),
    // Asks first; what is asked for is done in small parts, so that it can be stopped between them.
    askToBuild: () =>
      attempt(async () => {
        const { node_ids: due } = await link().ask("list_due");
        if (due.length) store.change("view", { to: { dialog: "build", due } });
        else notice(say()("nothing_due"));
      }),
    build: () =>
      attempt(async () => {
        const { due } = store.state.view;
        let done = 0;
        store.change("building", { building: { done, total: due.length } });
        try {
          while (done < due.length && store.state.building) {
            const { stopped, failed } = await link().ask("build", { node_ids: due.slice(done, done + BUILT_AT_ONCE) });
            if (failed.length || stopped)
              throw Object.assign(new Error(failed[0]?.error ?? String(stopped)), { code: "failed" });
            done = Math.min(due.length, done + BUILT_AT_ONCE);
            if (store.state.building) store.change("building", { building: { done, total: due.length } });
          }
          notice(say()("built", { count: done }));
        } finally {
          store.change("building", { building: null });
        }
      }),
    stopBuilding: () => store.change("building", { building: null }),
    // What would be sent with this prompt, by the code that sends it.
    /** @param {string} prompt @param {string} mode @param {string[]} from */
    preview: (prompt, mode, from) =>
      attempt(async () => {
        const { flow, flowId, composing } = store.state;
        const data = {
          node_ids: from,
          prompt,
          ...alongWith(composing),
          ...attachments(composing),
          ...(mode ? { mode } : {}),
          ...(from.length ? { flow_id: flow.id || flowId } : {}),
        };
        store.change("preview", { preview: { from, ...(await link().ask("preview_context", data)) } });
      }),
    closePreview: () => store.change("preview", { preview: null }),
  };
}

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

// A flow that is not there yet is an empty one; one that cannot be read is not.
/** @param {Failure} error @returns {{ ids?: string[], problem?: string, [more: string]: any }} */
function unlessNotShown(error) {
  if (error.code === "not_found") return {};
  if (error.code === UNREADABLE) return { problem: error.message };
  throw error;
}

/** @param {string} id */
function unreadable(id) {
  return (/** @type {Failure} */ error) => {
    if (error.code !== UNREADABLE) throw error;
    return { id, prompt: "", response: "", tags: [], problem: error.message };
  };
}
