// What the turns on a path took, as far as they are known here.

/** @import { Body } from "../state/state.js" */

/** @param {string[]} path @param {ReadonlyMap<string, Body>} bodies */
export function spentOn(path, bodies) {
  const sum = { cost: 0, input: 0, output: 0, priced: true, known: 0 };
  for (const id of path) {
    const body = bodies.get(id);
    if (!body) continue;
    sum.known++;
    if (!body.usage) continue;
    sum.input += body.usage.input ?? 0;
    sum.output += body.usage.output ?? 0;
    if (typeof body.usage.cost === "number") sum.cost += body.usage.cost;
    else sum.priced = false;
  }
  return sum;
}
