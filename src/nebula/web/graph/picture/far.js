// From afar the picture is painted once, larger than what is in sight, and pushed about as a whole while only the view moves.

/** @import { Scene } from "./scene.js" */

const MARGIN = 0.5; // of the view on each side

/** @typedef {(pen: CanvasRenderingContext2D, scene: Scene) => void} PaintPlane */

/** @param {PaintPlane} paintPlane */
export function createFar(paintPlane) {
  /** @type {HTMLCanvasElement} */
  let kept;
  /** @type {{ looks: any[], x: number, y: number } | null} */
  let known = null;

  /** @param {Scene} scene @param {number} ratio */
  function renew(scene, ratio) {
    const { viewport, size } = scene;
    const room = { width: size.width * MARGIN, height: size.height * MARGIN };
    const whole = { width: size.width + 2 * room.width, height: size.height + 2 * room.height };
    kept ??= document.createElement("canvas");
    Object.assign(kept, { width: Math.round(whole.width * ratio), height: Math.round(whole.height * ratio) }); // empties it
    const pen = /** @type {CanvasRenderingContext2D} */ (kept.getContext("2d"));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const from = {
      ...viewport,
      x: viewport.x - room.width / viewport.scale,
      y: viewport.y - room.height / viewport.scale,
    };
    paintPlane(pen, { ...scene, viewport: from, size: whole });
    known = { looks: looksOf(scene, ratio), x: from.x, y: from.y };
  }

  /** @param {CanvasRenderingContext2D} onto @param {Scene} scene @param {number} ratio */
  return (onto, scene, ratio) => {
    const { viewport, size } = scene;
    const away = () => ({
      x: known ? (viewport.x - known.x) * viewport.scale : -1,
      y: known ? (viewport.y - known.y) * viewport.scale : -1,
    });
    const covers = ({ x = 0, y = 0 }) =>
      x >= 0 && y >= 0 && x <= 2 * MARGIN * size.width && y <= 2 * MARGIN * size.height;
    if (!known || !same(known.looks, looksOf(scene, ratio)) || !covers(away())) renew(scene, ratio);
    const { x, y } = away();
    const whole = (/** @type {number} */ length) => Math.round(length * ratio) / ratio; // nothing between two pixels: it would blur
    onto.drawImage(kept, -whole(x), -whole(y), kept.width / ratio, kept.height / ratio);
  };
}

// Everything that the picture depends on but the place of the view.
/** @param {Scene} scene @param {number} ratio */
function looksOf({ layout, topology, path, hits, viewport, size, state, colour, colouring }, ratio) {
  return [
    layout,
    topology,
    path,
    hits,
    state.selected,
    colouring,
    viewport.scale,
    size.width,
    size.height,
    ratio,
    colour("--accent"),
    colour("--blank"),
    colour("--hit"),
  ];
}

/** @param {any[]} one @param {any[]} other */
function same(one, other) {
  return one.every((each, place) => each === other[place]);
}
