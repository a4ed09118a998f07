// Starting a race, stopping its tries, comparing what they did and taking it.

import { continuing } from "../state/here.js";
import { siblingsOf } from "../state/topology.js";

/** @import { Choosing } from "../app/choosing.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Asking, Store } from "../server/asking.js" */
/** @import { Selectors } from "../state/selectors.js" */
/** @import { State } from "../state/state.js" */
/** @typedef {{ tries: number } | { models: string[] }} Entrants */

/** @param {Store} store @param {Asking} asking @param {Pick<Choosing, "open">} choosing @param {Pick<Selectors, "topology">} selectors @param {() => Say} say */
export function createRaceActions(store, { ask, attempt, notice }, { open }, { topology }, say) {
  let used = () => {};
  let comparing = "";
  const look = (/** @type {string} */ dialog) => store.change("view", { to: { dialog } });

  /** @param {string[]} ids */
  const compare = (ids) =>
    attempt(async () => {
      const { tries, files } = await ask("compare_tries", { node_ids: ids });
      store.change("tried", { tried: { ids, tries, files } });
    });
  // Once for each race: whoever draws it may ask again and again.
  /** @param {string[]} ids */
  const compareOnce = (ids) => {
    if (comparing === ids.join()) return;
    comparing = ids.join();
    compare(ids);
  };
  let isAsked = false;
  // A second press before the first is answered is the same: a race costs what it costs once.
  /** @param {() => Promise<any>} work */
  const once = async (work) => {
    if (isAsked) return false;
    isAsked = true;
    const done = await attempt(work);
    isAsked = false;
    return done;
  };
  const siblings = (/** @type {State} */ state) => {
    const shape = topology(state);
    const place = shape.index.get(state.selected);
    return place === undefined ? [] : siblingsOf(shape, place).map((each) => shape.ids[each]);
  };

  return {
    compareOnce,
    /** The turns beside the chosen one, where there are some to compare. */
    siblings,
    // The race that goes on, or was the last; else a new one with this prompt.
    /** @param {string} prompt @param {() => void} whenUsed Called once the prompt is on its way. */
    show(prompt, whenUsed) {
      used = whenUsed;
      store.change("racing", { racing: { prompt } });
      look("race");
      if (!store.state.models.length) attempt(async () => store.change("models", await ask("list_models")));
    },
    // The same again, or what was typed meanwhile.
    another() {
      const prompt = store.state.racing.prompt || (store.state.race?.prompt ?? "");
      store.change("race_aside");
      store.change("racing", { racing: { prompt } });
    },
    /** @param {string[]} ids */
    async showTries(ids) {
      if (!(await compare(ids))) return;
      store.change("race_aside");
      look("race");
    },
    /** @param {string} prompt @param {Entrants} entrants @param {string} judge */
    start: (prompt, entrants, judge) =>
      once(async () => {
        if (store.state.race) return; // pressed once more before its lanes took the place of the button
        const { flow, flowId } = store.state;
        const data = { prompt, from: continuing(store.state), flow_id: flow.id || flowId, ...entrants };
        const begun = await ask("race", judge ? { ...data, judge } : data);
        store.change("race_begun", {
          begun: { models: [], ...entrants, ...begun, prompt, parents: data.from, flow_id: data.flow_id },
        });
        used();
      }),
    /** @param {string} traceId Of a try, or of the race. */
    stop(traceId) {
      store.change("race_stopping", { traceId });
      return attempt(() => ask("cancel", { trace_id: traceId }));
    },
    // Whole, or some paths of it. What is taken whole is where the conversation goes on.
    /** @param {string} nodeId @param {string[]} paths */
    take: (nodeId, paths = []) =>
      once(async () => {
        const part = paths.length ? { paths } : {};
        const done = await ask("take", { node_id: nodeId, ...part });
        const words = [
          ...done.remarks,
          done.paths.length ? say()("race_taken", { paths: done.paths.join(", ") }) : say()("race_taken_nothing"),
          done.conflicts.length ? say()("race_conflicts", { paths: done.conflicts.join(", ") }) : "",
          ...done.left_out,
        ];
        const back = { steps: [{ action: "give_files_back", data: { taken: nodeId } }], done: "files_given_back" };
        notice(words.filter(Boolean).join(" "), done.paths.length ? back : undefined);
        if (paths.length) return;
        look("");
        open(nodeId);
      }),
  };
}
/** @typedef {ReturnType<typeof createRaceActions>} RaceActions */
