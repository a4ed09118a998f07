// Draws what is in sight of the graph: dots from afar, then titles, then a line of summary, then cards.

import { inSight } from "./viewport.js";
import { createFar } from "./far.js";
import { CARD, detailAt, LANE, placesIn, pointOf, ROW } from "./geometry.js";

const DOT = 4;
const LINE = 17;
const FONT = '"Hiragino Sans", "Noto Sans JP", "Noto Sans CJK JP", system-ui, sans-serif';

/** @import { Say } from "../lib/words.js" */
/** @import { State } from "../state/state.js" */
/** @import { Layout } from "./layout.js" */
/** @import { Topology } from "../state/topology.js" */
/** @import { Point, Size, Viewport } from "./viewport.js" */

/**
 * @typedef {object} Scene
 * @property {Layout} layout
 * @property {Topology} topology
 * @property {Viewport} viewport
 * @property {Size} size
 * @property {Set<string>} path
 * @property {Set<string> | null} hits
 * @property {Pick<State, "briefs" | "selected" | "merging">} state
 * @property {Say} say
 * @property {(name: string) => string} colour
 * @property {{ from: number, point: Point | null, over: number | null, barred: boolean } | null} link A connection that is being drawn.
 */

// Returns the ids whose titles are not known yet.
/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {number} ratio */
export function paint(pen, scene, ratio) {
  const { viewport, size } = scene;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, size.width, size.height);
  const detail = detailAt(viewport.scale);
  if (detail === "dot") {
    far(pen, scene, ratio);
    linking(pen, scene);
    return [];
  }
  const places = inSightOf(scene);
  edges(pen, scene, places);
  const missing = [];
  for (const place of places) {
    if (!scene.state.briefs.has(scene.topology.ids[place])) missing.push(scene.topology.ids[place]);
    if (detail === "title") titled(pen, scene, place);
    else card(pen, scene, place, detail);
  }
  linking(pen, scene);
  return missing;
}

const far = createFar(paintPlane);

// Lines and dots alone.
/** @param {CanvasRenderingContext2D} pen @param {Scene} scene */
export function paintPlane(pen, scene) {
  const places = inSightOf(scene);
  edges(pen, scene, places);
  dots(pen, scene, places);
}

/** @param {Scene} scene */
function inSightOf({ layout, viewport, size }) {
  const sight = inSight(viewport, size);
  return placesIn(layout, {
    left: sight.left - LANE,
    top: sight.top - ROW,
    right: sight.right,
    bottom: sight.bottom + ROW,
  });
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene */
function linking(pen, { link, layout, viewport, colour }) {
  if (!link?.point) return;
  const { x, y } = pointOf(layout, link.from);
  pen.beginPath();
  pen.moveTo((x - viewport.x) * viewport.scale, (y - viewport.y) * viewport.scale);
  pen.lineTo(link.point.x, link.point.y);
  pen.strokeStyle = colour(link.barred ? "--bad" : link.over === null ? "--line-strong" : "--good");
  pen.lineWidth = 2.5;
  pen.setLineDash(link.barred ? [3, 5] : []);
  pen.stroke();
  pen.setLineDash([]);
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {number[]} places */
function edges(pen, scene, places) {
  const { layout, topology, viewport } = scene;
  const sight = inSight(viewport, scene.size);
  const chosen = new Path2D();
  const plain = new Path2D();
  const merging = new Path2D();
  const draw = (/** @type {number} */ parent, /** @type {number} */ place) => {
    const onPath = scene.path.has(topology.ids[place]) && scene.path.has(topology.ids[parent]);
    const onto = onPath ? chosen : topology.parents[place][0] === parent ? plain : merging;
    curve(onto, viewport, pointOf(layout, parent), pointOf(layout, place));
  };
  for (const place of places) {
    for (const parent of topology.parents[place])
      if (layout.row[place] - layout.row[parent] <= 1) draw(shownFor(layout, parent), place);
  }
  for (const [parent, place] of layout.far) {
    const [from, to] = [pointOf(layout, parent), pointOf(layout, place)];
    if (to.y >= sight.top && from.y <= sight.bottom) draw(shownFor(layout, parent), place);
  }
  pen.lineWidth = viewport.scale < 0.3 ? 1 : 1.5;
  pen.strokeStyle = scene.colour("--line-strong");
  pen.stroke(plain);
  pen.setLineDash([4, 3]);
  pen.stroke(merging);
  pen.setLineDash([]);
  pen.lineWidth = viewport.scale < 0.3 ? 2 : 2.5;
  pen.strokeStyle = scene.colour("--accent");
  pen.stroke(chosen);
}

// The turns of a folded run are drawn as its first.
/** @param {Layout} layout @param {number} place */
export function shownFor(layout, place) {
  return layout.run[place] >= 0 ? layout.run[place] : place;
}

/** @param {Path2D} path @param {Viewport} view @param {Point} from @param {Point} to */
function curve(path, view, from, to) {
  const [fromX, fromY, toX, toY] = [
    (from.x - view.x) * view.scale,
    (from.y - view.y) * view.scale,
    (to.x - view.x) * view.scale,
    (to.y - view.y) * view.scale,
  ];
  path.moveTo(fromX, fromY);
  if (fromX === toX || view.scale < 0.15) path.lineTo(toX, toY);
  else path.bezierCurveTo(fromX, fromY + ROW * view.scale * 0.7, toX, toY - ROW * view.scale * 0.7, toX, toY);
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {number[]} places */
function dots(pen, scene, places) {
  const { layout, topology, viewport, state, hits } = scene;
  const size = Math.max(1.5, Math.min(2 * DOT, 26 * viewport.scale));
  /** @type {[string, (id: string, place: number) => boolean][]} */
  const kinds = [
    ["--line-strong", (id) => !scene.path.has(id) && !(hits?.has(id) ?? false)],
    ["--accent", (id) => scene.path.has(id)],
    ["--hit", (id) => hits?.has(id) ?? false],
  ];
  for (const [name, fits] of kinds) {
    pen.fillStyle = scene.colour(name);
    for (const place of places) {
      if (!fits(topology.ids[place], place)) continue;
      const { x, y } = pointOf(layout, place);
      pen.fillRect(
        (x - viewport.x) * viewport.scale - size / 2,
        (y - viewport.y) * viewport.scale - size / 2,
        size,
        size,
      );
    }
  }
  const chosen = topology.index.get(state.selected ?? "");
  if (chosen !== undefined) ring(pen, scene, shownFor(layout, chosen), size / 2 + 4);
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {number} place @param {number} radius */
function ring(pen, { layout, viewport, colour }, place, radius) {
  const { x, y } = pointOf(layout, place);
  pen.beginPath();
  pen.arc((x - viewport.x) * viewport.scale, (y - viewport.y) * viewport.scale, radius, 0, 2 * Math.PI);
  pen.strokeStyle = colour("--accent");
  pen.lineWidth = 2;
  pen.stroke();
}

/** @param {Scene} scene @param {number} place */
function standing({ layout, topology, state, path, hits }, place) {
  const id = topology.ids[place];
  const count = layout.runs.get(place) ?? 0;
  const inRun = count > 0 && layout.run[topology.index.get(state.selected ?? "") ?? -1] === place;
  return {
    id,
    count,
    selected: id === state.selected || inRun,
    onPath: path.has(id),
    hit: hits?.has(id) ?? false,
    picked: state.merging.includes(id),
    dim: hits !== null && !hits.has(id),
    merge: topology.parents[place].length > 1,
  };
}

/** @param {Scene} scene @param {ReturnType<typeof standing>} now */
function titleOf({ state, say }, now) {
  if (now.count) return say("turns", { count: now.count });
  const brief = state.briefs.get(now.id);
  return brief ? brief.title || brief.summary || brief.problem || "–" : "";
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {number} place */
function titled(pen, scene, place) {
  const { layout, viewport, colour } = scene;
  const now = standing(scene, place);
  const { x, y } = pointOf(layout, place);
  const [left, middle] = [(x - viewport.x) * viewport.scale, (y - viewport.y) * viewport.scale];
  pen.globalAlpha = now.dim ? 0.35 : 1;
  knot(pen, left, middle, now, colour);
  if (now.selected || now.picked) ring(pen, scene, place, DOT + 4);
  pen.font = `${now.selected ? 600 : 400} 11.5px ${FONT}`;
  pen.textBaseline = "middle";
  pen.fillStyle = colour(now.onPath || now.hit ? "--text" : "--faint");
  const room = LANE * viewport.scale - 2 * DOT - 14;
  plate(pen, titleOf(scene, now), left + DOT + 8, middle, room, colour);
  pen.globalAlpha = 1;
}

// A title on ground of its own, so that a line behind it does not strike it out.
/** @param {CanvasRenderingContext2D} pen @param {string} text @param {number} left @param {number} middle @param {number} room @param {(name: string) => string} colour */
function plate(pen, text, left, middle, room, colour) {
  const shown = cut(pen, text, room);
  const ink = pen.fillStyle;
  pen.fillStyle = colour("--back");
  if (shown) pen.fillRect(left - 2, middle - 8, pen.measureText(shown).width + 4, 16);
  pen.fillStyle = ink;
  pen.fillText(shown, left, middle);
}

/** @param {CanvasRenderingContext2D} pen @param {number} x @param {number} y @param {ReturnType<typeof standing>} now @param {(name: string) => string} colour */
function knot(pen, x, y, now, colour) {
  pen.beginPath();
  if (now.merge) {
    pen.moveTo(x, y - DOT - 2);
    pen.lineTo(x + DOT + 2, y);
    pen.lineTo(x, y + DOT + 2);
    pen.lineTo(x - DOT - 2, y);
    pen.closePath();
  } else if (now.count) pen.rect(x - DOT, y - DOT - 3, 2 * DOT, 2 * DOT + 6);
  else pen.arc(x, y, DOT + 1, 0, 2 * Math.PI);
  pen.fillStyle = colour(now.onPath ? "--accent" : now.hit ? "--hit" : "--back");
  pen.fill();
  pen.lineWidth = 1.5;
  pen.strokeStyle = colour(now.onPath ? "--accent" : now.hit ? "--hit" : "--line-strong");
  pen.stroke();
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {number} place @param {"summary" | "card"} detail */
function card(pen, scene, place, detail) {
  const { layout, viewport, colour } = scene;
  const now = standing(scene, place);
  const { x, y } = pointOf(layout, place);
  const [left, top] = [(x - 6 - viewport.x) * viewport.scale, (y - CARD.height / 2 - viewport.y) * viewport.scale];
  const [width, height] = [CARD.width * viewport.scale, CARD.height * viewport.scale];
  pen.globalAlpha = now.dim ? 0.4 : 1;
  pen.beginPath();
  pen.roundRect(left, top, width, height, 8);
  pen.fillStyle = colour(now.selected || now.picked ? "--tint" : "--raised");
  pen.fill();
  pen.lineWidth = now.selected || now.picked ? 2.5 : 1.2;
  pen.strokeStyle = colour(now.hit ? "--hit" : now.onPath || now.picked ? "--accent" : "--line-strong");
  if (now.count) pen.setLineDash([5, 3]);
  pen.stroke();
  pen.setLineDash([]);
  words(pen, scene, now, { left: left + 9, top, width: width - 18, height, detail });
  pen.globalAlpha = 1;
}

// As many lines as the card has room for: the title alone, or with what it is about, its tags last.
/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {ReturnType<typeof standing>} now @param {{ left: number, top: number, width: number, height: number, detail: string }} room */
function words(pen, scene, now, { left, top, width, height, detail }) {
  const { colour, state, say } = scene;
  const brief = state.briefs.get(now.id);
  const lines = Math.floor((height - 8) / LINE);
  const first = top + (lines < 2 ? height / 2 + 5 : 19);
  pen.textBaseline = "alphabetic";
  pen.font = `600 13px ${FONT}`;
  pen.fillStyle = colour("--text");
  const title = (now.merge ? "⋈ " : "") + titleOf(scene, now);
  const titles = detail === "card" ? wrapped(pen, title, width, Math.min(2, lines)) : [cut(pen, title, width)];
  titles.forEach((line, number) => pen.fillText(line, left, first + LINE * number));
  pen.font = `400 11.5px ${FONT}`;
  pen.fillStyle = colour("--faint");
  const labels = detail === "card" ? (brief?.tags ?? []) : [];
  const tags = labels.length ? 1 : 0;
  const about = now.count
    ? (brief?.title ?? "")
    : brief?.summary || [brief?.model, brief?.files ? `±${brief.files}` : ""].filter(Boolean).join(" · ");
  const more = wrapped(pen, about, width, Math.max(0, lines - titles.length - tags));
  more.forEach((line, number) => pen.fillText(line, left, first + LINE * (titles.length + number)));
  const above = titles.length + more.length;
  const answer =
    detail === "card" && !now.count ? wrapped(pen, brief?.opening ?? "", width, Math.max(0, lines - above - tags)) : [];
  answer.forEach((line, number) => pen.fillText(line, left, first + LINE * (above + number)));
  if (tags) pen.fillText(cut(pen, `${say("tags")}: ${labels.join(", ")}`, width), left, top + height - 10);
}

/** @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room @param {number} most */
function wrapped(pen, text, room, most) {
  /** @type {string[]} */
  const lines = [];
  let rest = text.slice(0, 600).replace(/\s+/g, " ");
  while (rest && lines.length < most) {
    if (lines.length === most - 1) return [...lines, cut(pen, rest, room)];
    const length = fitting(pen, rest, room);
    const space = length < rest.length ? rest.lastIndexOf(" ", length) : length;
    const end = space > length / 2 ? space : length;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return lines;
}

/** @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room */
function cut(pen, text, room) {
  if (room < 16) return "";
  if (fitting(pen, text, room) === text.length) return text;
  return `${text.slice(0, fitting(pen, text, room - pen.measureText("…").width))}…`;
}

/** @param {CanvasRenderingContext2D} pen @param {string} text @param {number} room */
function fitting(pen, text, room) {
  let [low, high] = [0, Math.min(text.length, Math.ceil(room / 2))];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (pen.measureText(text.slice(0, middle)).width <= room) low = middle;
    else high = middle - 1;
  }
  return low;
}
