// What is in sight of a plane.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readPlace, writePlace } from "../../src/nebula/web/app/address.js";
import { layoutOf } from "../../src/nebula/web/graph/layout/layout.js";
import { everything, whole, zoomedTo } from "../../src/nebula/web/graph/sight.js";
import { EMPTY } from "../../src/nebula/web/state/state.js";
import { topologyOf } from "../../src/nebula/web/state/topology.js";
import { createPace } from "../../src/nebula/web/app/pace.js";
import { fencesOf, isLong, pieces } from "../../src/nebula/web/lib/plain.js";
import {
  centred,
  filled,
  fitted,
  holds,
  inSight,
  kept,
  LARGEST,
  panned,
  toPlane,
  toScreen,
  zoomed,
} from "../../src/nebula/web/graph/layout/viewport.js";

const SIZE = { width: 400, height: 200 };
const BOX = { left: 0, top: 0, right: 1000, bottom: 1000 };

test("screen and plane are each other's inverse", () => {
  const view = { x: 12, y: -7, scale: 0.4 };
  assert.deepEqual(toPlane(view, toScreen(view, { x: 100, y: 50 })), { x: 100, y: 50 });
});

test("zooming keeps what is under the pointer, within bounds", () => {
  const view = zoomed({ x: 0, y: 0, scale: 1 }, 2, { x: 100, y: 100 });
  assert.deepEqual(toPlane(view, { x: 100, y: 100 }), { x: 100, y: 100 });
  assert.equal(zoomed(view, 1e9, { x: 0, y: 0 }).scale, LARGEST);
});

test("zooming out ends a little beyond the sight of everything", () => {
  const topology = topologyOf({ nodes: ["a", "b"], connections: [{ source: "a", target: "b" }] });
  for (const at of [null, { x: 10, y: 10 }]) {
    const sight = { layout: layoutOf(topology), topology, state: EMPTY, size: SIZE, live: [] };
    const all = everything(sight);
    let view = { ...all, x: 5000, scale: 1 };
    for (let press = 0; press < 30; press++) view = zoomedTo(sight, view, 0.8, at);
    assert.ok(holds(view, SIZE, whole(sight)), "also where it began at an edge");
    assert.ok(view.scale < all.scale && view.scale > all.scale / 2, `${view.scale} instead of ${all.scale}`);
    const less = { ...view, scale: view.scale / 9 }; // seen in a smaller panel
    assert.equal(zoomedTo(sight, less, 0.8, at).scale, less.scale);
  }
});

test("panning moves by pixels of the screen", () => {
  assert.deepEqual(panned({ x: 0, y: 0, scale: 2 }, 10, 20), { x: 5, y: 10, scale: 2 });
});

test("a fit leaves room for what stands above it", () => {
  const view = fitted(BOX, SIZE, 1, 50);
  const heights = [0, 1000].map((y) => Math.round(toScreen(view, { x: 500, y }).y));
  assert.deepEqual(heights, [50, 200]);
});

test("and for what stands below it", () => {
  const view = fitted(BOX, SIZE, 1, 50, 50);
  const heights = [0, 1000].map((y) => Math.round(toScreen(view, { x: 500, y }).y));
  assert.deepEqual(heights, [50, 150]);
});

test("no more blank space is shown than there must be", () => {
  assert.deepEqual(filled({ x: -300, y: 990, scale: 1 }, SIZE, BOX), { x: 0, y: 800, scale: 1 });
  assert.deepEqual(filled({ x: 300, y: 400, scale: 1 }, SIZE, BOX), { x: 300, y: 400, scale: 1 });
  const low = filled({ x: 0, y: 0, scale: 1 }, SIZE, { ...BOX, bottom: 100 });
  assert.deepEqual(low, { x: 0, y: -50, scale: 1 }); // what is lower than the view is in its middle
});

test("a fit shows everything, in the middle, never larger than life", () => {
  const view = fitted(BOX, SIZE);
  assert.ok(holds(view, SIZE, BOX));
  assert.equal(view.scale, 0.2);
  assert.equal(fitted({ left: 0, top: 0, right: 10, bottom: 10 }, SIZE).scale, 1);
  assert.equal(holds(centred({ x: 0, y: 0, scale: 1 }, SIZE, { x: 500, y: 500 }), SIZE, BOX), false);
});

test("nobody gets lost in blank space", () => {
  const far = kept({ x: 1e6, y: -1e6, scale: 1 }, SIZE, BOX);
  const sight = inSight(far, SIZE);
  assert.ok(sight.left < BOX.right && sight.bottom > BOX.top);
  const near = { x: 10, y: 10, scale: 1 };
  assert.equal(kept(near, SIZE, BOX), near);
});

test("the place goes into the address and comes out of it", () => {
  const place = { flow: "研究 & more", node: "0190-ab" };
  for (const figures of [null, 0, 30])
    assert.deepEqual(readPlace(writePlace({ ...place, figures })), { ...place, figures });
  assert.equal(writePlace({ flow: "main", node: null }), "");
});

test("long text is cut into pieces that join to the same text", () => {
  const text = `${"x".repeat(30000)}\n${"行\n".repeat(5000)}${"😀".repeat(9000)}`;
  assert.equal(pieces(text).join(""), text);
  assert.ok(pieces(text).every((piece) => piece.length <= 12000 && !/[\ud800-\udbff]$/.test(piece)));
  assert.deepEqual([isLong("short"), isLong(text)], [false, true]);
});

test("who steps on without a rest is passing by", () => {
  let now = 1000;
  const pace = createPace(150, () => now);
  pace.step();
  assert.equal(pace.isPassing, false, "the first step is seen at once");
  now += 40;
  pace.step();
  assert.equal(pace.isPassing, true);
  now += 150;
  assert.equal(pace.isPassing, false, "a rest");
});

test("fences of a long text are told apart line by line", () => {
  const text = "before\n```python\nx = 1\n~~~\n```\nbetween `a` ```b```\n~~~~\n```\n~~~\n~~~~\n```js\nopen";
  assert.deepEqual(
    fencesOf(text).map(({ text: part, language }) => [language, part]),
    [
      [null, "before\n"],
      ["python", "x = 1\n~~~\n"],
      [null, "between `a` ```b```\n"],
      ["", "```\n~~~\n"],
      ["js", "open"],
    ],
  );
  assert.deepEqual(fencesOf("plain"), [{ text: "plain", language: null }]);
  assert.deepEqual(fencesOf(""), []);
});
