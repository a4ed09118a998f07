// Turns that are no nodes yet, among the rows of the outline: each below the turn that it continues.

/** @import { Live } from "../graph/live.js" */
/** @import { Row } from "../state/topology.js" */

/** @param {Row[]} rows @param {Live[]} live @returns {Row[]} */
export function withLive(rows, live) {
  if (!live.length) return rows;
  const known = new Set(rows.map((row) => row.id));
  const shown = [...rows];
  for (const turn of live) {
    if (known.has(turn.id)) continue;
    const at = shown.findIndex((row) => row.id === turn.parents[0]);
    const above = shown[at];
    const level = above ? above.level + (above.kind === "turn" ? 0 : 1) : 1;
    const more = { from: null, merges: [], branches: 0, holds: false, folded: false };
    const row = { id: turn.id, level, kind: /** @type {const} */ ("turn"), ...more, live: turn };
    // What continues nothing is the newest; the tries of a race stand in their order.
    let to = at + 1;
    while (turn.number && (shown[to]?.live?.number ?? turn.number) < turn.number) to++;
    shown.splice(to, 0, row);
  }
  return shown;
}
