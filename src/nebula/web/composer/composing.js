// What goes with the next prompt beside its words: who answers, what is shown beside the path, what is left out of it, and
// what was dropped in.

/**
 * @typedef {object} Composing
 * @property {string} model Empty: whoever is configured.
 * @property {string[]} references Turns shown beside the path.
 * @property {string[]} without Turns of the path that are not sent.
 * @property {Attached[]} attached
 * @property {string} again The turn whose prompt is asked again or otherwise; where that begins a conversation, both do.
 */
/** @typedef {{ name: string, size: number, image: boolean, data: string }} Attached Base64 of an image, else the text. */

/** @type {Composing} */
export const FRESH = { model: "", references: [], without: [], attached: [], again: "" };

const added = (/** @type {string[]} */ list, /** @type {string} */ id) => (list.includes(id) ? list : [...list, id]);
const removed = (/** @type {string[]} */ list, /** @type {string} */ id) => list.filter((each) => each !== id);

/** @type {Record<string, (composing: Composing, change: any) => Composing>} */
export const COMPOSING = {
  model: (composing, { model }) => ({ ...composing, model }),
  refer: (composing, { id }) => ({ ...composing, references: added(composing.references, id) }),
  unrefer: (composing, { id }) => ({ ...composing, references: removed(composing.references, id) }),
  leave_out: (composing, { id }) => ({ ...composing, without: added(composing.without, id) }),
  take_in: (composing, { id }) => ({ ...composing, without: removed(composing.without, id) }),
  attach: (composing, { attached }) => ({ ...composing, attached: [...composing.attached, attached] }),
  detach: (composing, { place }) => ({
    ...composing,
    attached: composing.attached.filter((_, each) => each !== place),
  }),
};

// What goes along when a turn is asked again: what went along then.
/** @param {Composing} composing @param {{ id: string, attachments?: { name: string, kind: string, size: number, text?: string }[], references?: string[], [more: string]: any }} body @returns {Composing} */
export function againWith({ model }, { id, attachments = [], references = [] }) {
  const attached = attachments.map(({ name, kind, size, text = "" }) => ({
    name,
    size,
    image: kind === "image",
    data: text,
  }));
  return { ...FRESH, model, references, attached, again: id };
}

// Those that the server lists but the one that answers anyway; and the chosen one before it has said so.
/** @param {string[]} models @param {string} current @param {string} chosen */
export function namedModels(models, current, chosen) {
  const others = models.filter((model) => model !== current);
  return chosen && !others.includes(chosen) ? [chosen, ...others] : others;
}

// The name of the model that answers where none is chosen: of the settings, unless the server has said that another does.
/** @param {string} wished @param {string} current */
export function answering(wished, current) {
  return current && !current.endsWith(`/${wished}`) ? current : wished;
}
