// The lines of the picture: those of the trees, those that come in by merges, with heads, and the chosen path above them.

import { siblingsOf } from "../../state/topology.js";
import { CARD, detailAt, pointOf, ROW } from "../layout/geometry.js";
import { routeOf } from "../layout/routes.js";
import { inSight } from "../layout/viewport.js";

/** @import { Layout } from "../layout/layout.js" */
/** @import { Box, Point, Viewport } from "../layout/viewport.js" */
/** @import { Scene } from "./scene.js" */

const ROUND = 10;
const HEAD = 5;
const LINES_FROM = 0.1; // further away nothing of them could be seen

/** @type {{ of: Layout | null, known: Map<number, Map<number, Point[]>> }} */
const routes = { of: null, known: new Map() };

/** @param {Layout} layout @param {number} from @param {number} to */
function routed(layout, from, to) {
  if (routes.of !== layout) Object.assign(routes, { of: layout, known: new Map() });
  const known = routes.known.get(from) ?? new Map();
  if (!known.has(to)) known.set(to, routeOf(layout, from, to));
  routes.known.set(from, known);
  return /** @type {Point[]} */ (known.get(to));
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene */
export function drawEdges(pen, scene) {
  const { layout, topology, viewport, size, path } = scene;
  const sight = inSight(viewport, size);
  const far = detailAt(viewport.scale) === "far";
  const [plain, merging, chosen, heads, coming] = Array.from({ length: 5 }, () => new Path2D());
  const paths = { plain, merging, chosen, heads, coming };
  const isChosen = (/** @type {number} */ from, /** @type {number} */ to) =>
    path.has(topology.ids[to]) && path.has(topology.ids[from]);
  const draw = (/** @type {number} */ from, /** @type {number} */ to, /** @type {Path2D} */ onto) =>
    trace(isChosen(from, to) ? paths.chosen : onto, viewport, routed(layout, from, to), far);
  // From their end: where several come to one turn, the dashes of one lie on those of the others.
  const drawBack = (/** @type {number} */ from, /** @type {number} */ to) =>
    trace(isChosen(from, to) ? paths.chosen : paths.merging, viewport, routed(layout, from, to).toReversed(), far);
  forks(scene, sight, (from, to) => {
    const isOnPath = isChosen(from, to);
    if (viewport.scale < LINES_FROM && !isOnPath) return;
    elbow(
      isOnPath ? paths.chosen : paths.plain,
      viewport,
      pointOf(layout, from),
      pointOf(layout, to),
      layout.aside.has(to),
    );
  });
  for (const [from, to] of layout.long) if (meets(layout, from, to, sight)) draw(from, to, paths.plain);
  for (const [from, to] of layout.merges) {
    if (!meets(layout, from, to, sight) || viewport.scale < LINES_FROM) continue;
    drawBack(from, to);
    if (!far) head(paths.heads, viewport, routed(layout, from, to));
  }
  for (const { x, row, above } of scene.live)
    if (above >= 0) elbow(paths.coming, viewport, pointOf(layout, above), { x, y: row * ROW }, false);
  for (const group of topology.tries.values()) if (group.length > 1) tries(paths.plain, scene, group[0]);
  stroke(pen, scene, paths, far);
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Record<"plain" | "merging" | "chosen" | "heads" | "coming", Path2D>} paths @param {boolean} far */
function stroke(pen, { colour }, { plain, merging, chosen, heads, coming }, far) {
  pen.lineWidth = far ? 1 : 1.5;
  pen.strokeStyle = colour("--edge");
  pen.stroke(plain);
  pen.setLineDash(far ? [3, 3] : [5, 4]);
  pen.stroke(merging);
  pen.setLineDash([]);
  pen.fillStyle = colour("--edge");
  pen.fill(heads);
  pen.lineWidth = far ? 1.75 : 2;
  pen.strokeStyle = colour("--accent");
  pen.setLineDash([1, 5]);
  pen.lineCap = "round";
  pen.stroke(coming);
  pen.lineCap = "butt";
  pen.setLineDash([]);
  pen.stroke(chosen);
}

// Lines of the tree from one row to the next that are at least partly in sight.
/** @param {Scene} scene @param {Box} sight @param {(from: number, to: number) => void} draw */
function forks({ layout }, sight, draw) {
  const { byRow, below, x, row } = layout;
  const first = Math.max(0, Math.floor(sight.top / ROW) - 1);
  const last = Math.min(byRow.length - 1, Math.ceil(sight.bottom / ROW));
  for (let at = first; at <= last; at++) {
    for (const from of byRow[at] ?? []) {
      const children = below[from];
      for (let number = 0; number < children.length; number++) {
        const to = children[number];
        const isLeft = x[from] < sight.left && x[to] < sight.left;
        const isRight = x[from] > sight.right && x[to] > sight.right;
        if (!isLeft && !isRight && row[to] === at + 1) draw(from, to);
      }
    }
  }
}

/** @param {Layout} layout @param {number} from @param {number} to @param {Box} sight */
function meets({ row }, from, to, sight) {
  const [top, bottom] = row[from] < row[to] ? [row[from], row[to]] : [row[to], row[from]];
  return (bottom + 1) * ROW >= sight.top && (top - 1) * ROW <= sight.bottom;
}

/** @param {Path2D} path @param {Viewport} view @param {Point} from @param {Point} to @param {boolean} aside */
function elbow(path, view, from, to, aside) {
  const { x, y, scale } = view;
  const [startX, endX] = [(from.x - x) * scale, (to.x - x) * scale];
  const startY = (from.y + CARD.height / 2 - y) * scale;
  const endY = (to.y - CARD.height / 2 - y) * scale;
  path.moveTo(startX, startY);
  if (startX !== endX) {
    const middle = (from.y + ROW / 2 + (aside ? -9 : 0) - y) * scale;
    const round = Math.min(ROUND, ROUND * 1.2 * scale, Math.abs(endX - startX) / 2);
    path.arcTo(startX, middle, endX, middle, round);
    path.arcTo(endX, middle, endX, endY, round);
  }
  path.lineTo(endX, endY);
}

/** @param {Path2D} path @param {Viewport} view @param {Point[]} corners @param {boolean} far */
function trace(path, { x, y, scale }, corners, far) {
  const at = corners.map((corner) => ({ x: (corner.x - x) * scale, y: (corner.y - y) * scale }));
  path.moveTo(at[0].x, at[0].y);
  for (let number = 1; number < at.length - 1; number++) {
    const [before, here, next] = [at[number - 1], at[number], at[number + 1]];
    const room = Math.min(
      Math.hypot(here.x - before.x, here.y - before.y),
      Math.hypot(next.x - here.x, next.y - here.y),
    );
    path.arcTo(here.x, here.y, next.x, next.y, far ? 0 : Math.min(ROUND, room / 2));
  }
  path.lineTo(at[at.length - 1].x, at[at.length - 1].y);
}

/** @param {Path2D} path @param {Viewport} view @param {Point[]} corners */
function head(path, { x, y, scale }, corners) {
  const end = corners[corners.length - 1];
  const [tipX, tipY] = [(end.x - x) * scale, (end.y - y) * scale];
  path.moveTo(tipX, tipY);
  path.lineTo(tipX - HEAD, tipY - 1.7 * HEAD);
  path.lineTo(tipX + HEAD, tipY - 1.7 * HEAD);
  path.closePath();
}

// Tries of one beginning leave a common point above them.
/** @param {Path2D} path @param {Scene} scene @param {number} first */
function tries(path, { topology, layout, viewport }, first) {
  const points = siblingsOf(topology, first).map((place) => pointOf(layout, place));
  const [left, right] = [Math.min(...points.map(({ x }) => x)), Math.max(...points.map(({ x }) => x))];
  const start = { x: (left + right) / 2, y: points[0].y - ROW };
  for (const point of points) elbow(path, viewport, start, point, false);
}

// The line that a pointer draws away from a card.
/** @param {CanvasRenderingContext2D} pen @param {Scene} scene */
export function drawLink(pen, { link, layout, viewport, colour }) {
  if (!link?.point) return;
  const { x, y } = pointOf(layout, link.from);
  pen.beginPath();
  pen.moveTo((x - viewport.x) * viewport.scale, (y + CARD.height / 2 - viewport.y) * viewport.scale);
  pen.lineTo(link.point.x, link.point.y);
  pen.strokeStyle = colour(link.barred ? "--bad" : link.over === null ? "--line-strong" : "--good");
  pen.lineWidth = 2.5;
  pen.setLineDash(link.barred ? [3, 5] : []);
  pen.stroke();
  pen.setLineDash([]);
}
