// The whole graph in a corner, with a frame around what is in sight. A press goes there.

import { fitted, holds, inSight, toPlane, toScreen } from "../state/viewport.js";
import { boundsOf, pointOf } from "./geometry.js";

/** @param {HTMLCanvasElement} canvas @param {(point: { x: number, y: number }) => void} go */
export function createMinimap(canvas, go) {
  const size = { width: canvas.width, height: canvas.height };
  const picture = document.createElement("canvas");
  Object.assign(picture, size);
  /** @type {any} */
  const view = { layout: null, ink: "", viewport: null, scene: null };
  let painting = 0;
  const press = (/** @type {PointerEvent} */ event) =>
    event.buttons && view.viewport && go(toPlane(view.viewport, { x: event.offsetX, y: event.offsetY }));
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    press(event);
  });
  canvas.addEventListener("pointermove", press);
  // Every node of the flow: not before the titles in sight are drawn.
  const paintLater = () => {
    clearTimeout(painting);
    painting = window.setTimeout(() => {
      nodes(picture, view, size);
      show();
    });
  };
  const show = () => {
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
  return {
    draw(/** @type {any} */ scene) {
      const bounds = boundsOf(scene.layout);
      canvas.hidden = holds(scene.viewport, scene.size, bounds);
      if (canvas.hidden) return;
      view.scene = scene;
      const ink = scene.colour("--line-strong");
      if (view.layout !== scene.layout || view.ink !== ink) {
        Object.assign(view, { layout: scene.layout, ink, viewport: fitted(bounds, size, 0.2) });
        paintLater();
      }
      show();
    },
  };
}

/** @param {HTMLCanvasElement} picture @param {any} view @param {{ width: number, height: number }} size */
function nodes(picture, view, size) {
  const pen = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
  pen.clearRect(0, 0, size.width, size.height);
  pen.fillStyle = view.ink;
  for (const row of view.layout.byRow) {
    for (const place of row ?? []) {
      const { x, y } = toScreen(view.viewport, pointOf(view.layout, place));
      pen.fillRect(x, y, 1.5, 1.5);
    }
  }
}
