// Colours with a meaning: turns of one model, or with one tag, have one. The first that are seen get the first colours, so
// nothing changes its colour while the page is open.

/** @import { Brief } from "../../state/state.js" */
/** @typedef {"model" | "tag" | "none"} ColourBy */
/**
 * @typedef {object} Colouring
 * @property {(brief: Brief | undefined) => string | null} of The token of a turn's colour.
 * @property {{ name: string, token: string }[]} legend
 */

const COLOURS = 6;
const OTHERS = "--hue-other";

/** @type {Record<ColourBy, (brief: Brief) => string>} */
const MEANING = { model: (brief) => brief.model ?? "", tag: (brief) => brief.tags?.[0] ?? "", none: () => "" };

/** @param {ReadonlyMap<string, Brief>} briefs @param {ColourBy} by @returns {Colouring} */
export function colouringOf(briefs, by) {
  /** @type {Map<string, string>} */
  const tokens = new Map();
  for (const brief of briefs.values()) {
    const name = MEANING[by](brief);
    if (name && !tokens.has(name)) tokens.set(name, tokens.size < COLOURS ? `--hue-${tokens.size + 1}` : OTHERS);
  }
  return {
    of: (brief) => (brief ? (tokens.get(MEANING[by](brief)) ?? null) : null),
    legend: [...tokens].map(([name, token]) => ({ name, token })),
  };
}
