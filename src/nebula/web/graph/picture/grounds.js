// Each conversation on a ground of its own, in the outline of its tree, with its title above: readable however far away.

import { boxAt, boxOfRegion, CARD, detailAt, EDGE, HEAD, LANE, pointOf, ROW } from "../layout/geometry.js";
import { inSight } from "../layout/viewport.js";
import { timeOf } from "../../lib/time.js";
import { cut } from "./lettering.js";

/** @import { Region } from "../layout/layout.js" */
/** @import { Box } from "../layout/viewport.js" */
/** @import { Scene } from "./scene.js" */

const ROUND = 22;
const TITLE = 13;
const MOST_TITLES = 60;
const MOST_BRANCHES = 12;
const NARROWEST = 90; // pixels of a title
const LEAST = 44; // pixels of one that lies on nothing
const LITTLE = 150; // pixels of a conversation that goes out of sight: its title would lie over what is left
const CONTROLS = 170; // pixels of the corner where the controls are
const LOWEST = 22; // pixels of the strip above the first card that has words in it
const ABOVE = HEAD - EDGE;
const JOINED = 44;
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
  const { grown, apart } = withLive(scene);
  for (const region of regionsInSight(scene)) outline(path, scene, grown.get(region) ?? region);
  for (const turn of apart) add(path, scene, groundOf(scene, turn));
  pen.fillStyle = scene.colour("--surface");
  pen.fill(path);
}

// Turns at work stand on the ground of their conversation, where it can grow so far without reaching into another.
/** @param {Pick<Scene, "layout" | "live">} scene */
export function withLive({ layout, live }) {
  /** @type {Map<Region, Region>} */
  const grown = new Map();
  const apart = [];
  for (const turn of live) {
    const home = layout.regions[layout.region[turn.above]];
    const next = home && !home.ragged ? including(grown.get(home) ?? home, turn) : null;
    const isFree =
      next && layout.regions.every((other) => other === home || !meets(boxOfRegion(other), boxOfRegion(next)));
    if (isFree) grown.set(home, next);
    else apart.push(turn);
  }
  return { grown, apart };
}

/** @param {Region} region @param {{ x: number, row: number }} card @returns {Region} */
function including(region, { x, row }) {
  const { left, right, bottom } = region;
  return { ...region, left: Math.min(left, x), right: Math.max(right, x), bottom: Math.max(bottom, row) };
}

// Of one that stands apart: joined to that of its conversation.
/** @param {Scene} scene @param {Scene["live"][number]} turn @returns {Box} */
function groundOf({ layout }, { x, row, above }) {
  const { left, top, right, bottom } = boxAt({ x, y: row * ROW });
  const home = layout.regions[layout.region[above]];
  return {
    left: left - EDGE - (home && x > home.right ? JOINED : 0),
    top: top - EDGE - (home && row > home.bottom ? JOINED : 0),
    right: right + EDGE + (home && x < home.left ? JOINED : 0),
    bottom: bottom + EDGE,
  };
}

/** @param {Path2D} path @param {Scene} scene @param {Box} box */
function add(path, { viewport: { x, y, scale } }, { left, top, right, bottom }) {
  const round = Math.max(2, ROUND * scale);
  path.roundRect((left - x) * scale, (top - y) * scale, (right - left) * scale, (bottom - top) * scale, round);
}

// As one, or, where a later turn found its place beside another conversation, row by row as wide as the tree is there.
/** @param {Path2D} path @param {Scene} scene @param {Region} region */
function outline(path, scene, region) {
  const whole = boxOfRegion(region);
  if (detailAt(scene.viewport.scale) === "far") whole.top += ABOVE; // its title stands there
  if (!region.ragged) return add(path, scene, whole);
  for (let row = region.top; row <= region.bottom; row++) {
    const middle = row * ROW;
    const top = row > region.top ? middle - CARD.height / 2 - EDGE : whole.top;
    for (const [left, right] of stretches(scene.layout, region, row)) {
      const sides = { left: left - CARD.width / 2 - EDGE, right: right + CARD.width / 2 + EDGE };
      add(path, scene, { ...sides, top, bottom: middle + CARD.height / 2 + EDGE });
    }
  }
}

// Cards of a conversation in a row, as far as they stand beside each other: between them may be another one.
/** @param {Scene["layout"]} layout @param {Region} region @param {number} row */
function stretches({ byRow, region: regionOf, x }, region, row) {
  const number = regionOf[region.roots[0]];
  /** @type {[number, number][]} */
  const found = [];
  for (const place of byRow[row] ?? []) {
    if (regionOf[place] !== number) continue;
    const last = found.at(-1);
    if (last && x[place] - last[1] <= 2 * LANE) last[1] = x[place];
    else found.push([x[place], x[place]]);
  }
  return found;
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
    const least = heading.least ?? LEAST;
    const width = Math.min(pen.measureText(text).width || least, least, heading.room);
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
  left: left - 4,
  top: top - 10,
  right: left + width + 4,
  bottom: top + 10,
});

// Where all have a little room, each takes what is left up to the next.
/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {{ heading: Heading, box: Box, text: string }} title @param {{ box: Box }[]} all */
function widen(pen, { font }, title, all) {
  const { heading, box, text } = title;
  pen.font = fontOf(heading, font);
  let end = heading.left + Math.min(pen.measureText(text).width, heading.room);
  for (const { box: other } of all)
    if (other.left > box.left && other.top < box.bottom && other.bottom > box.top) end = Math.min(end, other.left - 6);
  title.box = boxOfTitle(heading, Math.max(end - heading.left, box.right - box.left - 8));
}

/** @param {CanvasRenderingContext2D} pen @param {Scene} scene @param {{ heading: Heading, box: Box, text: string }} title */
function write(pen, { font, colour }, { heading, box, text }) {
  pen.font = fontOf(heading, font);
  const room = box.right - box.left - 8;
  if (heading.plate) {
    const isSoft = heading.plate === "soft";
    pen.fillStyle = colour(isSoft ? "--surface-sunken" : "--surface-raised");
    pen.globalAlpha = isSoft ? 0.85 : 1;
    pen.beginPath();
    if (isSoft) pen.roundRect(box.left, box.top + 1, box.right - box.left, 18, 6);
    else pen.roundRect(box.left - 4, box.top - 2, box.right - box.left + 8, 24, 8);
    pen.fill();
    pen.globalAlpha = 1;
    pen.lineWidth = 1;
    pen.strokeStyle = colour("--line");
    if (!isSoft) pen.stroke();
  }
  pen.fillStyle = colour(heading.strong ? "--text" : "--text-faint");
  pen.fillText(cut(pen, text, room + 1), heading.left, heading.top + 1);
}

/** @typedef {{ place: number, left: number, top: number, room: number, strong: boolean, plate: "" | "soft" | "pill", least?: number, text?: string }} Heading `plate`: what it lies on. */

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
function headingOf(scene, region, far) {
  const { viewport, size, say, state, topology } = scene;
  const { x, y, scale } = viewport;
  const box = boxOfRegion(region);
  const place = region.roots[0];
  const edge = (box.left - x) * scale;
  const top = (box.top - y) * scale;
  const room = Math.min(Math.max((box.right - box.left) * scale, 2.4 * NARROWEST), size.width - Math.max(edge, 0) - 20);
  if (top < -20 && (box.bottom - y) * scale < LITTLE) return null;
  if (top < -20) {
    const left = Math.max(14, edge + 10);
    const beside = size.width - left - CONTROLS;
    if (beside < LEAST) return null;
    return { place, left, top: 24, room: Math.min(room, beside), strong: true, plate: "pill" };
  }
  if (far) {
    const at = { left: Math.max(edge + 2, 8), top: Math.max(top + ABOVE * scale - 8, 14) };
    const free = roomBeside(scene, region, at);
    const own = (box.right - box.left) * scale;
    const isCrowded = region.count < 2 && scene.layout.regions.length > MOST_TITLES;
    // Of many that are tiny, some titles that can be read are better than all of them cut.
    if (free >= LEAST)
      return { place, ...at, room: free, least: isCrowded ? NARROWEST : LEAST, strong: true, plate: "" };
    return { place, ...at, room: Math.min(Math.max(own, LEAST), room), strong: true, plate: "soft" };
  }
  if (region.count < 2 || HEAD * scale < LOWEST) return null;
  const { timestamp } = state.briefs.get(topology.ids[place]) ?? {};
  const when = timestamp ? `${timeOf(timestamp, state.view.lang)} · ` : "";
  const text = `${when}${say("turns", { count: region.count })}`;
  const left = Math.max(8, edge + EDGE * scale + 3);
  const within = (box.right - x) * scale - left - 8;
  return within < LEAST ? null : { place, left, top: top + 21 * scale, room: within, strong: false, plate: "", text };
}

// Pixels from there to the next card of another conversation: on its bare ground there is room for words.
/** @param {Scene} scene @param {Region} own @param {{ left: number, top: number }} at */
function roomBeside({ layout, viewport: { x, y, scale }, size }, own, { left, top }) {
  let end = size.width - 8;
  const rowAt = (/** @type {number} */ pixel, /** @type {number} */ half) => (pixel / scale + y + half) / ROW;
  for (const region of layout.regions) {
    if (region === own || (region.right - x) * scale < left) continue;
    const first = Math.max(Math.ceil(rowAt(top - TITLE / 2, -CARD.height / 2)), region.top);
    const last = Math.min(Math.floor(rowAt(top + TITLE / 2, CARD.height / 2)), region.bottom);
    for (let row = first; row <= last; row++) {
      const [from, to] = region.spans[row - region.top] ?? [Infinity, -Infinity];
      const edge = (from - CARD.width / 2 - x) * scale - 8;
      if ((to + CARD.width / 2 - x) * scale > left && edge < end) end = edge;
    }
  }
  return end - left;
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
    if (left < 0 || top < 30 || top > size.height - 10) continue;
    const end = (boxOfRegion(layout.regions[layout.region[place]]).right - x) * scale; // it is no name of another's
    const room = Math.min(1.6 * NARROWEST, Math.min(end, size.width) - left - 8);
    if (room >= NARROWEST) found.push({ place, left, top, room, strong: false, plate: "soft" });
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
