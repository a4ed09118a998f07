// Fetches what the page shows: the flow, titles and whole turns in sight.

import { FIRST_FLOW, questionsAt } from "../app/address.js";
import { placeIn } from "../app/preferences.js";

const AT_ONCE = 200;
const UNREADABLE = "bad_file";

/** @import { Asking, Store } from "./asking.js" */
/** @import { Failure } from "./link.js" */
/** @import { Connection } from "../state/topology.js" */

/** @param {Store} store @param {Asking} asking */
export function createLoading(store, { ask, attempt }) {
  /** @type {Set<string>} */
  const asked = new Set();
  let refreshing = false;

  // `node`: the turn to choose, where the address names one.
  /** @param {string | null} node */
  async function loadFlow(node = null) {
    const wanted = store.state.flowId;
    const { flow: before } = store.state;
    store.change("asking");
    // By its id once that is known: it may have another name by now.
    const [flow, first, all] = questionsAt(before.id || wanted, node).map(({ action, data }) => ask(action, data));
    const titles = first.catch(() => ({ nodes: [] })); // those that are missing are asked for anyway
    attempt(() => takeFlows(all)); // for the choice of a flow: nothing waits for it
    const found = await flow.catch(unlessNotShown);
    if (wanted !== store.state.flowId) return; // another flow was chosen meanwhile
    // What was heard while the answer was on its way may be newer than the answer: then it is asked for again.
    if (store.state.flow !== before) store.change("outdated");
    if (!found.ids) {
      store.change("flow", { flow: { id: "", name: wanted, nodes: [], connections: [], problem: found.problem } });
      return;
    }
    const { flow_id: id, name, ids, pairs, tries, branches, opens, begun } = found;
    const connections = connectionsOf(ids, pairs);
    const place = node ?? (store.state.flow.id !== id && store.state.selected === null ? placeIn(id) : null);
    store.change("flow", { flow: { id, name, nodes: ids, connections, tries, branches, opens, begun }, place });
    store.change("briefs", { nodes: (await titles).nodes });
  }

  // What was heard of a flow while the list was on its way may be newer than the list: then it is asked for again.
  /** @param {Promise<any>} list */
  async function takeFlows(list) {
    const { flows: before } = store.state;
    const { flows } = await list;
    if (store.state.flows !== before) return takeFlows(ask("list_flows"));
    store.change("flows", { flows });
  }

  // Where the flow cannot be had, what went wrong is told, and a prompt begins anew.
  /** @param {string | null} node */
  async function comeTo(node) {
    const done = await attempt(() => loadFlow(node));
    if (!done && store.state.status === "open") store.change("placed"); // else it is asked for again
  }

  // What was imported lies in a flow of its own: where nobody asked for the first flow and nothing is in it, the one changed
  // last is opened.
  async function leaveEmptyFlow() {
    const { flow, flowId } = store.state;
    if (flowId !== FIRST_FLOW || flow.nodes.length || flow.problem) return;
    const filled = (await ask("list_flows")).flows.filter(
      (/** @type {any} */ each) => each.node_count && !each.archived,
    );
    if (!filled.length) return;
    const [latest] = filled.sort((/** @type {any} */ a, /** @type {any} */ b) => (a.updated < b.updated ? 1 : -1));
    store.change("choose_flow", { flowId: latest.id });
    await loadFlow();
  }

  return {
    /**
     * @param {{ modes: string[], turns: any[], races?: any[], root?: string, editor_url?: string, model?: string }} hello
     * @param {boolean} resumed
     * @param {string | null} node
     */
    async arrive(hello, resumed, node) {
      const { modes, turns, races, model } = hello;
      const project =
        model === undefined ? undefined : { root: hello.root ?? "", editorUrl: hello.editor_url ?? "", model };
      store.change("hello", { modes, project, turns, races, resumed, now: Date.now() });
      asked.clear();
      if (resumed) return;
      await comeTo(store.state.flow.id ? null : node);
      if (!node && !turns.length) await attempt(leaveEmptyFlow);
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
      await comeTo(node);
    },
    // Short forms for rows in sight; each is asked for once.
    /** @param {string[]} ids */
    async briefs(ids) {
      const wanted = ids.filter((id) => !asked.has(id)).slice(0, AT_ONCE);
      if (!wanted.length || store.state.status !== "open") return;
      for (const id of wanted) asked.add(id);
      await attempt(async () => store.change("briefs", await ask("get_nodes", { node_ids: wanted })));
      for (const id of wanted) asked.delete(id);
    },
    // Whole turns that are not known, or have changed since.
    /** @param {string[]} ids */
    bodies(ids) {
      for (const id of ids) {
        const key = `body ${id}`;
        const known = store.state.bodies.get(id);
        if ((known && !known.isOutdated) || asked.has(key) || store.state.status !== "open") continue;
        asked.add(key);
        const isGone = () => !store.state.flow.nodes.includes(id);
        attempt(async () => {
          const node = await ask("get_node", { node_id: id }).catch(unreadable(id, isGone));
          if (node) store.change("body", { node });
        }).then(() => asked.delete(key));
      }
    },
  };
}
/** @typedef {ReturnType<typeof createLoading>} Loading */

// Places in the list of turns, from and to by turns.
/** @param {string[]} ids @param {number[]} pairs @returns {Connection[]} */
function connectionsOf(ids, pairs) {
  const connections = [];
  for (let at = 0; at < pairs.length; at += 2) {
    const from = pairs[at];
    const to = pairs[at + 1];
    connections.push({ source: ids[from], target: ids[to], from, to });
  }
  return connections;
}

// A flow that is not there yet is an empty one; one that cannot be read is not.
/** @param {Failure} error @returns {{ ids?: string[], problem?: string, [more: string]: any }} */
function unlessNotShown(error) {
  if (error.code === "not_found") return {};
  if (error.code === UNREADABLE) return { problem: error.message };
  throw error;
}

// Null for one that was deleted just now: the news of that came before the answer.
/** @param {string} id @param {() => boolean} isGone */
function unreadable(id, isGone) {
  return (/** @type {Failure} */ error) => {
    if (error.code === "not_found" && isGone()) return null;
    if (error.code !== UNREADABLE) throw error;
    return { id, prompt: "", response: "", tags: [], problem: error.message };
  };
}
