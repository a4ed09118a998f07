// Boxes in layers, so that arrows lead on: each as far from the beginning as its longest way there, beside those it belongs
// to. A long arrow has a point in every layer that it passes.

/** @typedef {{ width: number, height: number }} Size */
/** @typedef {{ from: string, to: string }} Line */
/** @typedef {{ x: number, y: number }} Spot Its middle. */
/** @typedef {{ spots: Map<string, Spot>, ways: Spot[][], width: number, height: number }} Placed `ways`: the points of each line, in the order of its arrow. */

const BESIDE = 28;
export const BELOW = 46;
const SWEEPS = 6;

/**
 * From above to below; who wants it from left to right turns it.
 * @param {Map<string, Size>} sizes @param {Line[]} lines @param {number} below Between two layers. @returns {Placed}
 */
export function placed(sizes, lines, below = BELOW) {
  const back = backward([...sizes.keys()], lines);
  const led = lines.map(({ from, to }, at) => (back.has(at) ? { from: to, to: from } : { from, to }));
  const depth = depths([...sizes.keys()], led);
  /** @type {string[][]} */
  const layers = [];
  const put = (/** @type {string} */ id, /** @type {number} */ at) => (layers[at] ??= []).push(id);
  for (const id of sizes.keys()) put(id, depth.get(id) ?? 0);
  const all = new Map(sizes);
  /** @type {[string, string][]} */
  const steps = [];
  const points = led.map(({ from, to }, number) => {
    const way = [from];
    for (let at = (depth.get(from) ?? 0) + 1; at < (depth.get(to) ?? 0); at++) {
      const id = `${number} ${at}`;
      all.set(id, { width: 8, height: 0 });
      put(id, at);
      way.push(id);
    }
    way.push(to);
    way.slice(1).forEach((id, place) => steps.push([way[place], id]));
    return back.has(number) ? way.reverse() : way;
  });
  const x = across(layers, steps, all);
  const { y, height } = down(layers, all, below);
  const spot = (/** @type {string} */ id) => ({ x: x.get(id) ?? 0, y: y.get(id) ?? 0 });
  const width = Math.max(...[...all].map(([id, size]) => (x.get(id) ?? 0) + size.width / 2));
  return {
    spots: new Map([...sizes.keys()].map((id) => [id, spot(id)])),
    ways: points.map((way) => way.map(spot)),
    width,
    height,
  };
}

// Lines that lead back to where one came from: turned for the order, or there would be none.
/** @param {string[]} ids @param {Line[]} lines */
function backward(ids, lines) {
  /** @type {Set<number>} */
  const found = new Set();
  /** @type {Map<string, "open" | "done">} */
  const state = new Map();
  const visit = (/** @type {string} */ id) => {
    state.set(id, "open");
    lines.forEach((line, at) => {
      if (line.from !== id) return;
      if (state.get(line.to) === "open") found.add(at);
      else if (!state.has(line.to)) visit(line.to);
    });
    state.set(id, "done");
  };
  for (const id of ids) if (!state.has(id)) visit(id);
  return found;
}

/** @param {string[]} ids @param {Line[]} lines */
function depths(ids, lines) {
  const depth = new Map(ids.map((id) => [id, 0]));
  for (let round = 0, moved = true; moved && round <= ids.length; round++) {
    moved = false;
    for (const { from, to } of lines) {
      const least = (depth.get(from) ?? 0) + 1;
      if (from === to || (depth.get(to) ?? 0) >= least) continue;
      depth.set(to, least);
      moved = true;
    }
  }
  return depth;
}

// Sweeps down and up: each layer in the order of its neighbours, then as near to their middle as the others let it.
/** @param {string[][]} layers @param {[string, string][]} steps @param {Map<string, Size>} sizes */
function across(layers, steps, sizes) {
  /** @type {Map<string, number>} */
  const x = new Map();
  const width = (/** @type {string} */ id) => sizes.get(id)?.width ?? 0;
  for (const layer of layers) {
    let at = 0;
    for (const id of layer) {
      x.set(id, at + width(id) / 2);
      at += width(id) + BESIDE;
    }
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const [mine, other] = sweep % 2 ? [0, 1] : [1, 0];
    const order = sweep % 2 ? [...layers].reverse() : layers;
    for (const layer of order) {
      const wanted = new Map(
        layer.map((id) => {
          const near = steps.filter((step) => step[mine] === id).map((step) => x.get(step[other]) ?? 0);
          return [id, near.length ? near.reduce((sum, each) => sum + each, 0) / near.length : (x.get(id) ?? 0)];
        }),
      );
      layer.sort((one, two) => (wanted.get(one) ?? 0) - (wanted.get(two) ?? 0));
      spread(layer, wanted, width).forEach((at, place) => x.set(layer[place], at));
    }
  }
  const left = Math.min(...[...x].map(([id, at]) => at - width(id) / 2));
  for (const [id, at] of x) x.set(id, at - left);
  return x;
}

// Side by side, the whole of them where their wishes are on average.
/** @param {string[]} layer @param {Map<string, number>} wanted @param {(id: string) => number} width */
function spread(layer, wanted, width) {
  /** @type {number[]} */
  const at = [];
  layer.forEach((id, place) => {
    const before = layer[place - 1];
    const least = place ? at[place - 1] + (width(before) + width(id)) / 2 + BESIDE : -Infinity;
    at.push(Math.max(wanted.get(id) ?? 0, least));
  });
  const shift = layer.reduce((sum, id, place) => sum + (wanted.get(id) ?? 0) - at[place], 0) / layer.length;
  return at.map((each) => each + shift);
}

/** @param {string[][]} layers @param {Map<string, Size>} sizes @param {number} below */
function down(layers, sizes, below) {
  /** @type {Map<string, number>} */
  const y = new Map();
  let top = 0;
  for (const layer of layers) {
    const height = Math.max(...layer.map((id) => sizes.get(id)?.height ?? 0));
    for (const id of layer) y.set(id, top + height / 2);
    top += height + below;
  }
  return { y, height: top - below };
}
