// How anything is asked of the server: failures are shown, and a change says what takes it back.

const NOTICE_MS = 6000;
const OFFER_MS = 20_000;
const TURN = /(?<!')[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/; // the id of a flow is quoted
const SLOW_MS = 300; // what is answered sooner needs no sign that it is on its way

/** @import { Edit, Offer, State } from "../state/state.js" */
/** @import { Link, Failure } from "./link.js" */
/** @import { Say } from "../lib/words.js" */
/** @typedef {{ readonly state: State, change: (kind: string, details?: Record<string, any>) => void }} Store */

/**
 * @param {Store} store
 * @param {Pick<Link, "ask">} link
 * @param {() => Say} say
 */
export function createAsking(store, link, say) {
  let notices = 0;
  let offers = 0;
  let late = 0;

  // Nothing that was asked is silent for longer than a moment: the page shows that an answer is awaited.
  /** @param {string} action @param {Record<string, any>} data @returns {Promise<any>} */
  async function ask(action, data = {}) {
    let isLate = false;
    const waiting = setTimeout(() => {
      isLate = true;
      if (++late === 1) store.change("awaiting", { awaiting: true });
    }, SLOW_MS);
    try {
      return await link.ask(action, data);
    } finally {
      clearTimeout(waiting);
      if (isLate && --late === 0) store.change("awaiting", { awaiting: false });
    }
  }

  // A way back stands until its own time is over.
  /** @param {string} text @param {Offer} [offer] */
  function notice(text, offer) {
    const number = ++notices;
    store.change("notice", { text, offer });
    setTimeout(() => number === notices && store.change("notice", { text: "" }), NOTICE_MS);
    if (!offer) return;
    const given = ++offers;
    setTimeout(() => given === offers && dismiss(), OFFER_MS);
  }

  const dismiss = () => store.change("dismiss");

  /** @param {string} word @param {Record<string, any>} values */
  const tell = (word, values = {}) => notice(say()(word, values));

  // False when it failed; the reason is shown, unless the line is lost, which the banner says already.
  /** @param {() => Promise<any>} work */
  async function attempt(work) {
    try {
      await work();
      return true;
    } catch (problem) {
      const error = /** @type {Failure} */ (problem);
      if (!error.code) throw error;
      if (error.code === "changed_since") tell("changed_since");
      else if (error.code === "not_found" && TURN.test(error.message)) tell("turn_gone");
      else if (error.code !== "lost") tell("failed", { message: error.message });
      return false;
    }
  }

  return {
    ask,
    attempt,
    notice,
    dismiss,
    tell,
    // What is told at once is told together: a notice takes the place of the one before.
    /** @param {string[]} texts */
    tellAll: (texts) => texts.length > 0 && notice(texts.join(" ")),
    /** @param {Edit} edit @param {(answer: any) => void} hear */
    carryOut: ({ steps, done, undo }, hear = () => {}) =>
      attempt(async () => {
        for (const { action, data } of steps) hear(await ask(action, data));
        notice(say()(done), undo);
      }),
    /** @param {Offer} offer */
    takeUp: ({ steps, done }) =>
      attempt(async () => {
        const answers = [];
        for (const { action, data } of steps) answers.push(await ask(action, data));
        dismiss();
        tell(done, { paths: answers.flatMap((each) => each.paths ?? []).join(", ") });
      }),
  };
}
/** @typedef {ReturnType<typeof createAsking>} Asking */
