// The whole graph in a corner, with a frame around what is in sight. A press goes there.

import { fitted, holds, inSight, toPlane, toScreen } from "./viewport.js";
import { boundsOf, pointOf } from "./geometry.js";

/** @import { Layout } from "./layout.js" */
/** @import { Scene } from "./paint.js" */
/** @import { Viewport } from "./viewport.js" */

/** @param {HTMLCanvasElement} canvas @param {(point: { x: number, y: number }) => void} go */
export function createMinimap(canvas, go) {
  const size = { width: canvas.width, height: canvas.height };
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
  // Every node of the flow: not before the titles in sight are drawn.
  const paintLater = () => {
    clearTimeout(painting);
    painting = window.setTimeout(() => {
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
  return {
    draw(/** @type {Scene} */ scene) {
      const bounds = boundsOf(scene.layout);
      canvas.hidden = holds(scene.viewport, scene.size, bounds);
      if (canvas.hidden) return;
      const ink = scene.colour("--line-strong");
      const known = view?.layout === scene.layout && view.ink === ink ? view.viewport : null;
      view = { layout: scene.layout, ink, viewport: known ?? fitted(bounds, size, 0.2), scene };
      if (!known) paintLater();
      show();
    },
  };
}

/** @typedef {ReturnType<typeof createMinimap>} Minimap */

/** @param {HTMLCanvasElement} picture @param {Layout} layout @param {Viewport} viewport @param {string} ink */
function nodes(picture, layout, viewport, ink) {
  const pen = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
  pen.clearRect(0, 0, picture.width, picture.height);
  pen.fillStyle = ink;
  for (const row of layout.byRow) {
    for (const place of row ?? []) {
      const { x, y } = toScreen(viewport, pointOf(layout, place));
      pen.fillRect(x, y, 1.5, 1.5);
    }
  }
}
