// Names of branches, on the line that leads to their first turn.

import { CARD, detailAt, pointOf, ROW } from "../layout/geometry.js";
import { shownFor } from "../layout/placing.js";
import { cut } from "./lettering.js";

/** @import { Scene } from "./scene.js" */

const HEIGHT = 18;
const SMALLEST = 0.55; // below that there is no room between the rows

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene */
export function drawBranchNames(pen, scene) {
  const { layout, topology, viewport, size, state, colour, font } = scene;
  const { x, y, scale } = viewport;
  if (detailAt(scale) === "far" || scale < SMALLEST) return;
  pen.font = `500 11px ${font}`;
  pen.textBaseline = "middle";
  for (const [id, name] of Object.entries(state.flow.branches ?? {})) {
    const place = topology.index.get(id);
    if (place === undefined || shownFor(layout, place) !== place) continue;
    const at = pointOf(layout, place);
    const middle = (at.x - x) * scale;
    const card = (at.y - CARD.height / 2 - y) * scale;
    const top = Math.min((at.y - (ROW + CARD.height) / 4 - y) * scale - HEIGHT / 2 + 5 * scale, card - HEIGHT - 1);
    const reach = (CARD.width * scale) / 2;
    if (middle + reach < 0 || middle - reach > size.width || top + HEIGHT < 0 || top > size.height) continue;
    const text = cut(pen, name, 2 * reach - 16);
    const width = pen.measureText(text).width + 16;
    pen.beginPath();
    pen.roundRect(middle - width / 2, top, width, HEIGHT, HEIGHT / 2);
    pen.fillStyle = colour("--surface-raised");
    pen.fill();
    pen.lineWidth = 1;
    pen.strokeStyle = colour("--edge");
    pen.stroke();
    pen.fillStyle = colour("--text");
    pen.fillText(text, middle - width / 2 + 8, top + HEIGHT / 2 + 0.5);
  }
  pen.textBaseline = "alphabetic";
}
