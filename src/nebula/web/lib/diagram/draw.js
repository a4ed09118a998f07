// Diagrams as SVG, made of elements: nothing of what a model wrote is ever markup.

import { flowchartOf } from "./flowchart.js";
import { BELOW, placed } from "./layers.js";
import { sequenceOf } from "./sequence.js";

/** @import { Arrow, Box, Flowchart } from "./flowchart.js" */
/** @import { Spot } from "./layers.js" */
/** @import { Sequence, Step } from "./sequence.js" */
/** @typedef {SVGElement | string | null} Part */

const SVG = "http://www.w3.org/2000/svg";
const LINE = 18;
const FONT = 13;
const EDGE = 12;
const HEAD = 7;
const GAP = 36; // between two messages

/** @param {string} text @returns {(() => SVGElement) | null} How it is drawn, where it can be. */
export function drawingOf(text) {
  const chart = flowchartOf(text);
  if (chart) return () => drawChart(chart);
  const sequence = sequenceOf(text);
  return sequence && (() => drawSequence(sequence));
}

/** @param {string} tag @param {Record<string, string | number>} properties @param {...Part} children */
function svg(tag, properties, ...children) {
  const made = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, String(value));
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** @param {number} width @param {number} height @param {Part[]} parts */
function sheet(width, height, parts) {
  const [wide, high] = [Math.ceil(width + 2 * EDGE), Math.ceil(height + 2 * EDGE)];
  const inside = svg("g", { transform: `translate(${EDGE} ${EDGE})` }, ...parts);
  return svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, "aria-hidden": "true" }, inside);
}

/** @type {CanvasRenderingContext2D | null} */
let pen = null;
/** @param {string} label */
function sizeOf(label) {
  pen ??= document.createElement("canvas").getContext("2d");
  if (pen) pen.font = `${FONT}px ${getComputedStyle(document.body).fontFamily}`;
  const lines = label.split("\n");
  const width = Math.max(...lines.map((each) => pen?.measureText(each).width ?? each.length * FONT));
  return { width: Math.ceil(width), height: lines.length * LINE };
}

/** @param {string} label @param {Spot} spot @param {string} kind */
function words(label, { x, y }, kind = "") {
  const lines = label.split("\n");
  const first = y - ((lines.length - 1) * LINE) / 2 + FONT * 0.35;
  const one = (/** @type {string} */ each, /** @type {number} */ at) => svg("tspan", { x, y: first + at * LINE }, each);
  return svg("text", { class: kind, "text-anchor": "middle" }, ...lines.map(one));
}

// On a plate, so that no line runs through it.
/** @param {string} label @param {Spot} spot */
function plated(label, { x, y }) {
  const { width, height } = sizeOf(label);
  const plate = svg("rect", { class: "plate", x: x - width / 2 - 4, y: y - height / 2, width: width + 8, height });
  return label ? svg("g", {}, plate, words(label, { x, y }, "label")) : null;
}

/** @param {Flowchart} chart */
function drawChart({ across, reversed, boxes, arrows }) {
  const sizes = new Map([...boxes].map(([id, box]) => [id, boxSize(box)]));
  const turned = new Map(
    [...sizes].map(([id, { width, height }]) => [id, across ? { width: height, height: width } : { width, height }]),
  );
  const said = Math.max(...arrows.map(({ label }) => sizeOf(label).width), 0) + BELOW - 12;
  const { spots, ways, ...whole } = placed(turned, arrows, across ? Math.max(BELOW, said) : BELOW);
  const lie = ({ x, y } = { x: 0, y: 0 }) => {
    const down = reversed ? whole.height - y : y;
    return across ? { x: down, y: x } : { x, y: down };
  };
  const edge = (/** @type {Arrow} */ arrow, /** @type {number} */ at) => line(arrow, ways[at].map(lie), sizes, across);
  const drawn = [...boxes.values()].map((box) =>
    drawBox(box, lie(spots.get(box.id)), sizes.get(box.id) ?? boxSize(box)),
  );
  const labels = arrows.map((arrow, at) => plated(arrow.label, middle(ways[at].map(lie))));
  const parts = [...arrows.map(edge), ...drawn, ...labels];
  return across ? sheet(whole.height, whole.width, parts) : sheet(whole.width, whole.height, parts);
}

/** @param {Box} box */
function boxSize({ label, shape }) {
  const { width, height } = sizeOf(label);
  return shape === "choice"
    ? { width: width * 1.3 + 40, height: height * 1.3 + 34 }
    : { width: Math.max(44, width + 28), height: height + 20 };
}

/** @param {Box} box @param {Spot} spot @param {{ width: number, height: number }} size */
function drawBox({ label, shape }, { x, y }, { width, height }) {
  const [left, top] = [x - width / 2, y - height / 2];
  const round = { box: 6, soft: 12, round: height / 2 }[shape] ?? 0;
  const drawn =
    shape === "choice"
      ? svg("path", { class: "box", d: `M${x} ${top}L${left + width} ${y}L${x} ${top + height}L${left} ${y}Z` })
      : svg("rect", { class: "box", x: left, y: top, width, height, rx: round });
  return svg("g", {}, drawn, words(label, { x, y }));
}

/** @param {Spot[]} way */
function middle(way) {
  const at = (way.length - 1) / 2;
  const [one, other] = [way[Math.floor(at)], way[Math.ceil(at)]];
  return { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 };
}

// From edge to edge, in a curve that leaves and comes in straight; heads where the arrow has them.
/** @param {Arrow} arrow @param {Spot[]} way @param {Map<string, { width: number, height: number }>} sizes @param {boolean} across */
function line({ from, to, kind, heads }, way, sizes, across) {
  const points = [...way];
  const side = (/** @type {string} */ id) => (sizes.get(id)?.[across ? "width" : "height"] ?? 0) / 2;
  const shift = ({ x = 0, y = 0 }, /** @type {number} */ by) => (across ? { x: x + by, y } : { x, y: y + by });
  const last = points.length - 1;
  const sign = Math.sign(across ? points[last].x - points[0].x : points[last].y - points[0].y) || 1;
  points[0] = shift(points[0], sign * (side(from) + (heads[0] ? HEAD : 0)));
  points[last] = shift(points[last], -sign * (side(to) + (heads[1] ? HEAD : 0)));
  const curve = points.slice(1).map(({ x, y }, at) => {
    const before = points[at];
    if (across) return `C${(before.x + x) / 2} ${before.y} ${(before.x + x) / 2} ${y} ${x} ${y}`;
    return `C${before.x} ${(before.y + y) / 2} ${x} ${(before.y + y) / 2} ${x} ${y}`;
  });
  const drawn = svg("path", { class: `line ${kind}`, d: `M${points[0].x} ${points[0].y}${curve.join("")}` });
  const tips = [heads[0] ? head(points[0], -sign, across) : null, heads[1] ? head(points[last], sign, across) : null];
  return svg("g", {}, drawn, ...tips);
}

/** @param {Spot} spot Where the line ends. @param {number} way @param {boolean} across */
function head({ x, y }, way, across) {
  const half = HEAD * 0.6;
  const d = across
    ? `M${x} ${y - half}L${x + way * HEAD} ${y}L${x} ${y + half}Z`
    : `M${x - half} ${y}L${x} ${y + way * HEAD}L${x + half} ${y}Z`;
  return svg("path", { class: "head", d });
}

/** @param {Sequence} sequence */
function drawSequence({ people, steps }) {
  const high = Math.max(...people.map((name) => sizeOf(name).height)) + 18;
  const columns = columnsOf(people, steps);
  const right = columns[columns.length - 1] + sizeOf(people[people.length - 1]).width / 2 + 14;
  const loose = steps
    .filter(({ from, to }) => from === to)
    .map(({ from, text }) => columns[from] + sizeOf(text).width + 50);
  const bottom = high + (steps.length + 0.5) * GAP;
  const lanes = columns.map((x) => svg("path", { class: "lane", d: `M${x} ${high}V${bottom}` }));
  const names = people.map((name, at) => {
    const size = { width: Math.max(60, sizeOf(name).width + 28), height: high };
    return drawBox({ id: name, label: name, shape: "box" }, { x: columns[at], y: high / 2 }, size);
  });
  const drawn = steps.map((step, at) => drawStep(step, columns, high + (at + 0.8) * GAP));
  return sheet(Math.max(right, ...loose), bottom, [...lanes, ...names, ...drawn]);
}

// As far apart as what is said between neighbours needs.
/** @param {string[]} people @param {Step[]} steps */
function columnsOf(people, steps) {
  const half = (/** @type {number} */ at) => Math.max(60, sizeOf(people[at]).width + 28) / 2;
  /** @type {number[]} */
  const columns = [];
  people.forEach((_, at) => {
    if (!at) return columns.push(half(0));
    const between = steps.filter(({ from, to }) => Math.min(from, to) === at - 1 && Math.max(from, to) === at);
    const said = Math.max(0, ...between.map(({ text }) => sizeOf(text).width + 30));
    return columns.push(columns[at - 1] + Math.max(said, half(at - 1) + half(at) + 24));
  });
  return columns;
}

/** @param {Step} step @param {number[]} columns @param {number} y */
function drawStep({ kind, from, to, text, dotted, head: headed }, columns, y) {
  const [start, end] = [columns[from], columns[to]];
  if (kind === "part") return plated(text, { x: sizeOf(text).width / 2, y });
  if (kind === "note") {
    const { width } = sizeOf(text);
    const wide = Math.max(width + 20, end - start + 40);
    const box = svg("rect", {
      class: "note",
      x: (start + end) / 2 - wide / 2,
      y: y - 14,
      width: wide,
      height: 26,
      rx: 6,
    });
    return svg("g", {}, box, words(text, { x: (start + end) / 2, y: y - 1 }));
  }
  const style = `line ${dotted ? "dotted" : "solid"}`;
  if (from === to) {
    const loop = svg("path", { class: style, d: `M${start} ${y - 8}h26v16h-${26 - HEAD}` });
    const said = svg("text", { class: "label", x: start + 34, y: y + 4 }, text);
    return svg("g", {}, loop, head({ x: start + HEAD, y: y + 8 }, -1, true), said);
  }
  const way = Math.sign(end - start);
  const tip = end - way * HEAD;
  const drawn = svg("path", { class: style, d: `M${start} ${y}H${headed ? tip : end}` });
  return svg(
    "g",
    {},
    drawn,
    headed ? head({ x: tip, y }, way, true) : null,
    words(text, { x: (start + end) / 2, y: y - 10 }, "label"),
  );
}
