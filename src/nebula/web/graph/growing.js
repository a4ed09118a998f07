// A new card grows out of the turn it follows, in a moment; where less motion is asked for, it is simply there.

const GROW_MS = 150;
const MOST = 20;

/** @param {() => void} repaint */
export function createGrowing(repaint) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  /** @type {Map<number, number>} When each place came. */
  const since = new Map();
  let frame = 0;
  const step = () => {
    frame = 0;
    repaint();
    for (const [place, start] of since) if (performance.now() - start >= GROW_MS) since.delete(place);
    if (since.size) frame = requestAnimationFrame(step);
  };
  return {
    /** @param {number[]} places */
    begin(places) {
      if (calm.matches || places.length > MOST) return;
      for (const place of places) since.set(place, performance.now());
      if (since.size && !frame) frame = requestAnimationFrame(step);
    },
    /** @param {number} place */
    grown(place) {
      const start = since.get(place);
      if (start === undefined) return 1;
      const way = Math.min(1, (performance.now() - start) / GROW_MS);
      return 1 - (1 - way) ** 3;
    },
  };
}
