// Draws what is in sight of the graph: from afar conversations with their titles, then cards, then what is in them.

import { CARD, detailAt, placesIn, pointOf } from "../layout/geometry.js";
import { shownFor } from "../layout/placing.js";
import { inSight } from "../layout/viewport.js";
import { drawBranchNames } from "./branch_names.js";
import { drawCard } from "./cards.js";
import { drawEdges, drawLink } from "./edges.js";
import { createFar } from "./far.js";
import { drawGrounds, drawTitles } from "./grounds.js";

/** @import { Scene } from "./scene.js" */

const WORDED = 14; // pixels of a card that has lines for its words
const COLOURED_AT_ONCE = 400; // turns whose colours are worth asking for

// Returns the ids whose titles are not known yet.
/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {number} ratio */
export function paint(pen, scene, ratio) {
  const { viewport, size, state, topology, layout, hovered } = scene;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, size.width, size.height);
  const detail = detailAt(viewport.scale);
  const places = placesIn(layout, inSight(viewport, size));
  const unknown = (/** @type {number[]} */ some) =>
    some.map((place) => topology.ids[place]).filter((id) => !state.briefs.has(id));
  if (detail === "far") {
    far(pen, scene, ratio);
    const missing = drawTitles(pen, scene);
    drawLink(pen, scene);
    return places.length <= COLOURED_AT_ONCE ? [...missing, ...unknown(places)] : missing;
  }
  drawGrounds(pen, scene);
  drawEdges(pen, scene);
  for (const place of places) if (place !== hovered) drawCard(pen, scene, place, detail);
  drawBranchNames(pen, scene);
  if (hovered !== null && places.includes(hovered)) drawCard(pen, scene, hovered, detail);
  const missing = drawTitles(pen, scene);
  drawLink(pen, scene);
  return [...unknown(places), ...missing];
}

// Grounds, lines and cards without words.
/** @param {CanvasRenderingContext2D} pen @param {Scene} scene */
export function paintPlane(pen, scene) {
  drawGrounds(pen, scene);
  drawEdges(pen, scene);
  blanks(pen, scene);
}

const far = createFar(paintPlane);

// Cards with lines for their words while they are large enough for that, then plain blocks.
/** @param {CanvasRenderingContext2D} pen @param {Scene} scene */
function blanks(pen, { layout, topology, viewport, size, path, hits, state, colour, colouring }) {
  const { x, y, scale } = viewport;
  const [width, height] = [Math.max(1.5, CARD.width * scale), Math.max(1.5, CARD.height * scale)];
  const round = height > 6 ? Math.min(4, height / 4) : 0;
  const words = height >= WORDED ? new Path2D() : null;
  const chosen = topology.index.get(state.selected);
  /** @type {Map<string, Path2D>} */
  const layers = new Map();
  for (const place of placesIn(layout, inSight(viewport, size))) {
    const id = topology.ids[place];
    const at = pointOf(layout, place);
    const token = hits?.has(id)
      ? "--hit"
      : path.has(id)
        ? "--accent"
        : ((hits ? null : colouring.of(state.briefs.get(id))) ?? "--blank");
    const layer = layers.get(token) ?? new Path2D();
    layers.set(token, layer);
    const [left, top] = [(at.x - x) * scale - width / 2, (at.y - y) * scale - height / 2];
    if (round) layer.roundRect(left, top, width, height, round);
    else layer.rect(left, top, width, height);
    words?.rect(left + width * 0.1, top + height * 0.3, width * 0.75, height * 0.13);
    words?.rect(left + width * 0.1, top + height * 0.57, width * (0.3 + (place % 5) / 10), height * 0.13);
  }
  for (const token of [...layers.keys()].sort()) {
    pen.fillStyle = colour(token);
    pen.globalAlpha = token.startsWith("--hue") ? 0.6 : 1;
    pen.fill(/** @type {Path2D} */ (layers.get(token)));
  }
  pen.globalAlpha = 0.75;
  pen.fillStyle = colour("--surface");
  if (words) pen.fill(words);
  pen.globalAlpha = 1;
  if (chosen === undefined) return;
  const at = pointOf(layout, shownFor(layout, chosen));
  pen.beginPath();
  pen.roundRect(
    (at.x - x) * scale - width / 2 - 3,
    (at.y - y) * scale - height / 2 - 3,
    width + 6,
    height + 6,
    round + 3,
  );
  pen.strokeStyle = colour("--accent");
  pen.lineWidth = 2;
  pen.stroke();
}
