// A turn as a card: what it is about in a line or two, below it small signs of what it did; nearer by, how it was answered.

import { ICONS } from "../../vendor/lucide/icons.js";
import { CARD, pointOf } from "../layout/geometry.js";
import { cut, wrapped } from "./lettering.js";
import { standing, titleOf } from "./scene.js";

/** @import { IconName } from "../../lib/icon.js" */
/** @import { Detail } from "../layout/geometry.js" */
/** @import { Scene, Standing } from "./scene.js" */
/** @typedef {{ left: number, top: number, width: number, height: number }} Room */

const ROUND = 10;
const LINE = 17;
const STRIP = 4;

/** @type {Map<string, Path2D>} */
const shapes = new Map();

// Where a card is on the screen. A new one comes out of the turn it follows.
/** @param {Scene} scene @param {number} place @returns {Room} */
export function roomOf({ layout, viewport, grown }, place) {
  const { x, y, scale } = viewport;
  let at = pointOf(layout, place);
  const way = grown(place);
  const above = layout.above[place];
  if (way < 1 && above >= 0) {
    const from = pointOf(layout, above);
    at = { x: from.x + (at.x - from.x) * way, y: from.y + (at.y - from.y) * way };
  }
  const size = scale * (way < 1 ? 0.6 + 0.4 * way : 1);
  const [width, height] = [CARD.width * size, CARD.height * size];
  return { left: (at.x - x) * scale - width / 2, top: (at.y - y) * scale - height / 2, width, height };
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {number} place @param {Detail} detail */
export function drawCard(pen, scene, place, detail) {
  const now = standing(scene, place);
  const room = roomOf(scene, place);
  ground(pen, scene, now, room);
  words(pen, scene, now, room, detail);
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Standing} now @param {Room} room */
function ground(pen, { colour, colouring }, now, { left, top, width, height }) {
  const round = Math.min(ROUND, height / 4);
  const strong = now.selected || now.picked;
  const shape = (/** @type {number} */ down) => {
    pen.beginPath();
    pen.roundRect(left, top + down, width, height, round);
  };
  if (now.opens) stack(pen, colour, { left, top, width, height }, round);
  if (now.hovered) Object.assign(pen, { shadowColor: colour("--veil"), shadowBlur: 14, shadowOffsetY: 3 });
  shape(now.hovered ? 0 : 1.5);
  pen.fillStyle = colour("--line");
  pen.fill();
  Object.assign(pen, { shadowColor: "transparent", shadowBlur: 0, shadowOffsetY: 0 });
  shape(0);
  pen.fillStyle = colour(strong ? "--accent-tint" : "--surface-raised");
  pen.fill();
  const token = colouring.of(now.brief);
  if (token && !now.dim) {
    pen.save();
    pen.clip();
    pen.fillStyle = colour(token);
    pen.fillRect(left, top, STRIP, height);
    pen.restore();
    shape(0);
  }
  pen.lineWidth = strong || now.brief?.problem ? 2 : now.hit ? 1.5 : 1;
  pen.strokeStyle = colour(edgeOf(now));
  if (now.count) pen.setLineDash([5, 3]);
  pen.stroke();
  pen.setLineDash([]);
}

// A turn that opens a flow lies on top of others.
/** @param {CanvasRenderingContext2D} pen @param {Scene["colour"]} colour @param {Room} room @param {number} round */
function stack(pen, colour, { left, top, width, height }, round) {
  for (const down of [8, 4]) {
    pen.beginPath();
    pen.roundRect(left + down, top + down, width - 2 * down, height, round);
    pen.fillStyle = colour("--surface-raised");
    pen.fill();
    pen.lineWidth = 1;
    pen.strokeStyle = colour("--line-strong");
    pen.stroke();
  }
}

/** @param {Standing} now */
function edgeOf(now) {
  if (now.brief?.problem) return "--bad";
  if (now.hit) return "--hit";
  if (now.selected || now.picked || now.onPath) return "--accent";
  return now.hovered ? "--line-strong" : "--line";
}

// As many lines as there is room for: the title, what it came to, and the signs at the foot.
/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Standing} now @param {Room} room @param {Detail} detail */
function words(pen, scene, now, { left, top, width, height }, detail) {
  const { colour, font } = scene;
  const small = height < 44;
  const line = small ? 13 : LINE;
  const inset = small ? 9 : 13;
  const room = width - 2 * inset;
  const signs = height >= 62;
  const lines = Math.max(1, Math.floor((height - (signs ? 30 : small ? 6 : 12)) / line));
  pen.textBaseline = "alphabetic";
  pen.globalAlpha = now.dim ? 0.45 : 1;
  pen.font = `${small ? 500 : 600} ${small ? 10.5 : 13}px ${font}`;
  pen.fillStyle = colour("--text");
  const titles = wrapped(pen, titleOf(scene, now), room, Math.min(2, lines));
  pen.font = `400 ${small ? 10.5 : 12.5}px ${font}`;
  const about = now.count ? (now.brief?.title ?? "") : now.brief?.summary || now.brief?.opening || "";
  const more = wrapped(pen, about, room, Math.max(0, lines - titles.length));
  const first = signs ? top + 22 : top + (height - line * (titles.length + more.length)) / 2 + line - (small ? 3 : 4);
  pen.fillStyle = colour("--text-faint");
  more.forEach((text, number) => pen.fillText(text, left + inset, first + line * (titles.length + number)));
  pen.font = `${small ? 500 : 600} ${small ? 10.5 : 13}px ${font}`;
  pen.fillStyle = colour("--text");
  titles.forEach((text, number) => pen.fillText(text, left + inset, first + line * number));
  if (signs) foot(pen, scene, now, left + inset, top + height - 11, room, detail);
  pen.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {Standing} now @param {number} left @param {number} base @param {number} room @param {Detail} detail */
function foot(pen, { colour, font }, now, left, base, room, detail) {
  const { brief } = now;
  if (now.count || !brief) return;
  pen.font = `400 11.5px ${font}`;
  pen.fillStyle = pen.strokeStyle = colour("--text-faint");
  let at = left;
  /** @param {IconName} icon @param {string} text */
  const sign = (icon, text) => {
    const needed = 14 + (text ? pen.measureText(text).width + 3 : 0);
    if (at + needed > left + room) return;
    symbol(pen, icon, at, base - 9.5, 12);
    if (text) pen.fillText(text, at + 15, base);
    at += needed + 9;
  };
  if (now.opens) sign("workflow", now.opens);
  if (brief.pinned) sign("pin", "");
  if (brief.note) sign("sticky-note", "");
  if (now.merge) sign("git-merge", "");
  if (now.branches > 1) sign("git-branch", String(now.branches));
  if (brief.files) sign("file-diff", String(brief.files));
  if (brief.images) sign("image", brief.images > 1 ? String(brief.images) : "");
  const tags = detail === "card" || !now.merge ? (brief.tags ?? []).join(", ") : "";
  const rest = [tags, brief.model].filter(Boolean).join(" · ");
  const text = cut(pen, rest, left + room - at);
  if (text) pen.fillText(text, at, base);
}

/** @param {CanvasRenderingContext2D} pen @param {IconName} name @param {number} left @param {number} top @param {number} size */
function symbol(pen, name, left, top, size) {
  const shape = shapes.get(name) ?? new Path2D(ICONS[name]);
  shapes.set(name, shape);
  pen.save();
  pen.translate(left, top);
  pen.scale(size / 24, size / 24);
  Object.assign(pen, { lineWidth: 2.2, lineCap: "round", lineJoin: "round" });
  pen.stroke(shape);
  pen.restore();
}
