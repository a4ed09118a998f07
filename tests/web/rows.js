// The rows of an outline, all of them made.

import { linesOf, Rows } from "../../src/nebula/web/outline/lines.js";

/** @param {import("../../src/nebula/web/state/topology.js").Topology} topology @param {ReadonlySet<string>} [folded] */
export const rowsOf = (topology, folded) => [...new Rows(linesOf(topology, folded))];
