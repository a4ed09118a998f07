// Each conversation on a ground of its own, in the outline of its tree, with its title above: readable however far away.

import { boxOfRegion, CARD, detailAt, EDGE, pointOf, ROW } from "../layout/geometry.js";
import { inSight } from "../layout/viewport.js";
import { cut } from "./lettering.js";

/** @import { Region } from "../layout/layout.js" */
/** @import { Box } from "../layout/viewport.js" */
/** @import { Scene } from "./scene.js" */

const ROUND = 22;
const TITLE = 13;
const MOST_TITLES = 60;
const MOST_BRANCHES = 12;
const NARROWEST = 90; // pixels of a title
const BRANCH = 12; // turns that a branch has at least to be named from afar

/** @param {Box} one @param {Box} other */
const meets = (one, other) =>
  one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

/** @param {Scene} scene */
function regionsInSight({ layout, viewport, size }) {
  const sight = inSight(viewport, size);
  return layout.regions.filter((region) => meets(boxOfRegion(region), sight));
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene */
export function drawGrounds(pen, scene) {
  const path = new Path2D();
  for (const region of regionsInSight(scene)) outline(path, scene, region);
  pen.fillStyle = scene.colour("--surface-sunken");
  pen.fill(path);
}

// As one, or, where a later turn found its place beside another conversation, row by row as wide as the tree is there.
/** @param {Path2D} path @param {Scene} scene @param {Region} region */
function outline(path, { viewport }, region) {
  const { x, y, scale } = viewport;
  const round = Math.max(2, ROUND * scale);
  const add = (/** @type {Box} */ { left, top, right, bottom }) =>
    path.roundRect((left - x) * scale, (top - y) * scale, (right - left) * scale, (bottom - top) * scale, round);
  const whole = boxOfRegion(region);
  if (!region.ragged) return add(whole);
  region.spans.forEach(([left, right], at) => {
    if (left > right) return;
    const middle = (region.top + at) * ROW;
    const top = at ? middle - CARD.height / 2 - EDGE : whole.top;
    const sides = { left: left - CARD.width / 2 - EDGE, right: right + CARD.width / 2 + EDGE };
    add({ ...sides, top, bottom: middle + CARD.height / 2 + EDGE });
  });
}

/**
 * Titles of conversations, and from afar of their large branches, none on another. Returns ids that are not known yet.
 * @param {CanvasRenderingContext2D} pen
 * @param {Scene} scene
 */
export function drawTitles(pen, scene) {
  const { state, topology, font } = scene;
  /** @type {{ heading: Heading, box: Box, text: string }[]} */
  const placed = [];
  /** @type {string[]} */
  const missing = [];
  pen.textBaseline = "middle";
  for (const heading of headings(scene)) {
    if (placed.length >= MOST_TITLES) break;
    const id = topology.ids[heading.place];
    const brief = state.briefs.get(id);
    pen.font = fontOf(heading, font);
    const text = heading.text ?? (brief ? brief.title || brief.summary || "–" : "");
    const width = Math.min(pen.measureText(text).width || NARROWEST, NARROWEST);
    const box = boxOfTitle(heading, width);
    if (placed.some((other) => meets(box, other.box))) continue;
    placed.push({ heading, box, text });
    if (!brief) missing.push(id);
  }
  for (const each of placed) widen(pen, scene, each, placed);
  for (const each of placed) if (each.text) write(pen, scene, each);
  return missing;
}

/** @param {Heading} heading @param {string} font */
const fontOf = ({ strong }, font) => `${strong ? 600 : 400} ${strong ? TITLE : TITLE - 1}px ${font}`;

/** @param {Heading} heading @param {number} width @returns {Box} */
const boxOfTitle = ({ left, top }, width) => ({
  left: left - 6,
  top: top - 10,
  right: left + width + 6,
  bottom: top + 10,
});

// Where all have a little room, each takes what is left.
/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {{ heading: Heading, box: Box, text: string }} title @param {{ box: Box }[]} all */
function widen(pen, { font }, title, all) {
  pen.font = fontOf(title.heading, font);
  const needed = pen.measureText(title.text).width;
  for (const room of [title.heading.room, NARROWEST * 2, NARROWEST * 1.5]) {
    const wider = boxOfTitle(title.heading, Math.min(needed, room));
    if (wider.right <= title.box.right) return;
    if (all.some((other) => other !== title && meets(wider, other.box))) continue;
    title.box = wider;
    return;
  }
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {{ heading: Heading, box: Box, text: string }} title */
function write(pen, { font, colour }, { heading, box, text }) {
  pen.font = fontOf(heading, font);
  const room = box.right - box.left - 12;
  if (heading.plate) {
    pen.fillStyle = colour("--surface");
    pen.globalAlpha = 0.88;
    pen.beginPath();
    pen.roundRect(box.left, box.top, box.right - box.left, 20, 6);
    pen.fill();
    pen.globalAlpha = 1;
  }
  pen.fillStyle = colour(heading.strong ? "--text" : "--text-faint");
  pen.fillText(cut(pen, text, room + 1), heading.left, heading.top + 1);
}

/** @typedef {{ place: number, left: number, top: number, room: number, strong: boolean, plate: boolean, text?: string }} Heading */

/** @param {Scene} scene @returns {Heading[]} */
function headings(scene) {
  const far = detailAt(scene.viewport.scale) === "far";
  const newestFirst = regionsInSight(scene).reverse();
  const regions = newestFirst.flatMap((region) => headingOf(scene, region, far) ?? []);
  return far ? [...regions, ...branches(scene)] : regions;
}

// The title of a conversation stays in sight while any of it is. Where its first card can be read, that says it, and how
// long it is stands above.
/** @param {Scene} scene @param {Region} region @param {boolean} far @returns {Heading | null} */
function headingOf({ viewport, size, say }, region, far) {
  const { x, y, scale } = viewport;
  const box = boxOfRegion(region);
  const place = region.roots[0];
  const edge = (box.left - x) * scale;
  const top = (box.top - y) * scale;
  const room = Math.min(Math.max((box.right - box.left) * scale, 2.4 * NARROWEST), size.width - Math.max(edge, 0) - 20);
  if (top < -20 && (box.bottom - y) * scale < 40) return null;
  if (top < -20) return { place, left: Math.max(14, edge + 10), top: 16, room, strong: true, plate: true };
  if (far) return { place, left: Math.max(edge + 6, 8), top: Math.max(top + 3, 12), room, strong: true, plate: true };
  if (region.count < 2) return null;
  const text = say("turns", { count: region.count });
  const left = edge + EDGE * scale + 3;
  return { place, left, top: top + 21 * scale, room, strong: false, plate: false, text };
}

// Branches with many turns, the largest first.
/** @param {Scene} scene @returns {Heading[]} */
function branches({ layout, viewport, size }) {
  const { x, y, scale } = viewport;
  /** @type {Heading[]} */
  const found = [];
  for (const place of largeBranches(layout)) {
    const at = pointOf(layout, place);
    const [left, top] = [(at.x - CARD.width / 2 - x) * scale, (at.y - CARD.height / 2 - y) * scale - 10];
    if (left < 0 || top < 30 || left > size.width - NARROWEST || top > size.height - 10) continue;
    found.push({ place, left, top, room: 1.6 * NARROWEST, strong: false, plate: true });
    if (found.length >= MOST_BRANCHES) break;
  }
  return found;
}

/** @type {{ of: number[][] | null, count: number, places: number[] }} */
const known = { of: null, count: 0, places: [] };

/** @param {Scene["layout"]} layout */
function largeBranches({ below, above }) {
  if (known.of === below && known.count === below.length) return known.places;
  const sizes = new Int32Array(below.length).fill(1);
  const order = [];
  for (let place = 0; place < below.length; place++) if (above[place] < 0) order.push(place);
  for (let at = 0; at < order.length; at++) order.push(...below[order[at]]);
  for (let at = order.length - 1; at >= 0; at--) if (above[order[at]] >= 0) sizes[above[order[at]]] += sizes[order[at]];
  const places = order.filter((place) => above[place] >= 0 && below[above[place]].length > 1 && sizes[place] >= BRANCH);
  places.sort((one, other) => sizes[other] - sizes[one]);
  Object.assign(known, { of: below, count: below.length, places: places.slice(0, 400) });
  return known.places;
}
