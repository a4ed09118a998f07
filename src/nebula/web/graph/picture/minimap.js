// The whole graph in a corner, with a frame around what is in sight. A press goes there.

import { afterFrame } from "../../lib/dom.js";
import { fitted, holds, inSight, toPlane, toScreen } from "../layout/viewport.js";
import { boundsOf, CARD, ROW } from "../layout/geometry.js";

/** @import { Layout } from "../layout/layout.js" */
/** @import { Scene } from "./scene.js" */
/** @import { Viewport } from "../layout/viewport.js" */

/** @param {HTMLCanvasElement} canvas @param {(point: { x: number, y: number }) => void} go */
export function createMinimap(canvas, go) {
  let size = { width: canvas.width, height: canvas.height };
  const picture = document.createElement("canvas");
  Object.assign(picture, size);
  /** @type {{ layout: Layout, ink: string, viewport: Viewport, scene: Scene } | null} */
  let view = null;
  let painting = 0;
  const press = (/** @type {PointerEvent} */ event) =>
    event.buttons && view && go(toPlane(view.viewport, { x: event.offsetX, y: event.offsetY }));
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    press(event);
  });
  canvas.addEventListener("pointermove", press);
  // Every node of the flow: not before the titles in sight are seen.
  const paintLater = () => {
    cancelAnimationFrame(painting);
    painting = afterFrame(() => {
      if (!view) return;
      nodes(picture, view.layout, view.viewport, view.ink);
      show();
    });
  };
  const show = () => {
    if (!view) return;
    const { scene } = view;
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    pen.clearRect(0, 0, size.width, size.height);
    pen.drawImage(picture, 0, 0);
    const sight = inSight(scene.viewport, scene.size);
    const from = toScreen(view.viewport, { x: sight.left, y: sight.top });
    const to = toScreen(view.viewport, { x: sight.right, y: sight.bottom });
    pen.strokeStyle = scene.colour("--accent");
    pen.strokeRect(from.x + 0.5, from.y + 0.5, Math.max(4, to.x - from.x), Math.max(4, to.y - from.y));
  };
  // In a rail it is as high as that.
  new ResizeObserver(() => {
    if (!canvas.clientWidth || (canvas.clientWidth === size.width && canvas.clientHeight === size.height)) return;
    size = { width: canvas.clientWidth, height: canvas.clientHeight };
    Object.assign(canvas, size);
    Object.assign(picture, size);
    const scene = view?.scene;
    view = null;
    if (scene) draw(scene, true);
  }).observe(canvas);
  /** @param {Scene} scene @param {boolean} always Whether it is shown even where everything is in sight. */
  function draw(scene, always) {
    const bounds = boundsOf(scene.layout);
    canvas.hidden = !always && holds(scene.viewport, scene.size, bounds);
    if (canvas.hidden) return;
    const ink = scene.colour("--blank");
    const known = view?.layout === scene.layout && view.ink === ink ? view.viewport : null;
    view = { layout: scene.layout, ink, viewport: known ?? fitted(bounds, size, 0.2), scene };
    if (known) show();
    else paintLater();
  }
  return { draw };
}

/** @typedef {ReturnType<typeof createMinimap>} Minimap */

// Of those that stand in one quarter of a pixel the first is drawn: 1,263 of 10,000 turns of one conversation.
/** @param {HTMLCanvasElement} picture @param {Layout} layout @param {Viewport} viewport @param {string} ink */
function nodes(picture, layout, viewport, ink) {
  const pen = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
  pen.clearRect(0, 0, picture.width, picture.height);
  pen.fillStyle = ink;
  const [width, height] = [Math.max(1.5, CARD.width * viewport.scale), Math.max(1.5, CARD.height * viewport.scale)];
  const inked = new Uint8Array(4 * picture.width * picture.height);
  layout.byRow.forEach((places, row) => {
    const y = (row * ROW - viewport.y) * viewport.scale;
    const line = Math.floor(2 * y) * 2 * picture.width;
    for (const place of places) {
      const x = (layout.x[place] - viewport.x) * viewport.scale;
      const spot = line + Math.floor(2 * x);
      if (inked[spot]) continue;
      inked[spot] = 1;
      pen.fillRect(x - width / 2, y - height / 2, width, height);
    }
  });
}
