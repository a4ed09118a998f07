// What the page shows first, fetched before there is a line. Where no token is asked for, the browser has asked for it
// while it read the page (`Link: rel=preload`), and the answer is taken over here.

import { FIRST_FLOW, questionsAt } from "../app/address.js";

const PATIENCE_MS = 10_000; // the line then asks for everything

/** @import { FirstLook } from "./link.js" */
/** @import { Place } from "../app/address.js" */

// Null where it cannot be had; whatever the matter is, the line will tell.
/** @param {string} search @param {Place} place @param {string} token @returns {Promise<FirstLook | null>} */
export async function firstLook(search, { flow, node }, token) {
  const shown = token ? { headers: { authorization: `Bearer ${token}` } } : {};
  try {
    const response = await fetch(`/first${search}`, { ...shown, signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!response.ok) return null;
    const found = await response.json();
    const [flowAt, nodesAt] = questionsAt(flow ?? FIRST_FLOW, node);
    return {
      hello: found.hello,
      answers: found.flow
        ? [
            [flowAt, found.flow],
            [nodesAt, { nodes: found.nodes }],
          ]
        : [],
    };
  } catch {
    return null;
  }
}
