// Fingers, mouse and wheel on a canvas, reported as panning, zooming, hovering, clicking, and as a line that a mouse draws
// away from something that can be grabbed.

const CLICK_WITHIN = 4;
const WHEEL_ZOOM = 0.0025;
const LINE = 18;

/**
 * @param {HTMLCanvasElement} canvas
 * @param {{ pan: (x: number, y: number) => void, zoom: (factor: number, at: { x: number, y: number }) => void, click: (at: { x: number, y: number }, more: boolean) => void, hover: (at: { x: number, y: number }) => void, grab: (at: { x: number, y: number }) => boolean, draw: (at: { x: number, y: number }) => void, drop: (at: { x: number, y: number } | null, over: Element | null) => void }} tell
 */
export function followPointer(canvas, tell) {
  /** @type {Map<number, { x: number, y: number }>} */
  const down = new Map();
  let travelled = 0;
  let grabbed = false;
  const here = (/** @type {PointerEvent | WheelEvent} */ event) => ({ x: event.offsetX, y: event.offsetY });

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    if (!down.size) {
      travelled = 0;
      grabbed = event.pointerType === "mouse" && tell.grab(here(event));
    }
    down.set(event.pointerId, here(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    const now = here(event);
    if (!before) {
      if (event.pointerType === "mouse") tell.hover(now);
      return;
    }
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    const other = [...down].find(([pointer]) => pointer !== event.pointerId)?.[1];
    down.set(event.pointerId, now);
    if (other) {
      const spread =
        Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
      tell.zoom(spread, { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
    } else if (grabbed && travelled > CLICK_WITHIN) tell.draw(now);
    else if (travelled > CLICK_WITHIN) tell.pan(before.x - now.x, before.y - now.y);
  });
  const up = (/** @type {PointerEvent} */ event) => {
    if (!down.delete(event.pointerId)) return;
    if (grabbed && travelled > CLICK_WITHIN)
      tell.drop(
        event.type === "pointerup" ? here(event) : null,
        document.elementFromPoint(event.clientX, event.clientY),
      );
    grabbed = false;
    if (event.type === "pointerup" && !down.size && travelled <= CLICK_WITHIN)
      tell.click(here(event), event.ctrlKey || event.metaKey || event.shiftKey);
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
      if (event.ctrlKey || event.metaKey) tell.zoom(Math.exp(-event.deltaY * unit * WHEEL_ZOOM), here(event));
      else if (event.shiftKey && !event.deltaX) tell.pan(event.deltaY * unit, 0);
      else tell.pan(event.deltaX * unit, event.deltaY * unit);
    },
    { passive: false },
  );
}
