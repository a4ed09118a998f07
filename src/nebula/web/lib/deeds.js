// What a tool does, in plain words; one that we do not know is called by its name.

/** @import { Cue } from "../state/turn.js" */
/** @import { Say } from "./words.js" */
/** @typedef {{ name: string, about: string }} Deed `about`: what the tool works on. */

const KNOWN = new Set(
  "readFile writeFile editFile list searchInDirectory searchCode runCommand runCheck fetchUrl readNode delegate todo useSkill whyLines".split(
    " ",
  ),
);
const ABOUT = ["path", "command", "query", "pattern", "url", "task", "name"];

/** @param {{ name: string, args?: Record<string, unknown> }} step @returns {Deed} */
export function deedOf({ name, args = {} }) {
  const about = ABOUT.map((each) => args[each]).find((each) => typeof each === "string" && each);
  return { name, about: String(about ?? "").replace(/\s+/g, " ") };
}

/** @param {Deed} deed @param {Say} say */
export function told({ name, about }, say) {
  return KNOWN.has(name) ? say(`deed_${name}`, { about }).trim() : `${name} ${about}`.trim();
}

/**
 * The sentence that heads the question about what a command or a try did. `once` marks what is asked each time: changes of
 * the repository, which stand beside it in words; the files that the command changed, if any, are the next question.
 * @param {Pick<Cue, "tool" | "once" | "changes">} ask @param {Say} say
 */
export function nameProposal({ tool, once, changes = [] }, say) {
  if (tool === "take") return say("ask_taken", { count: changes.length });
  if (changes.length) return say("ask_set", { count: changes.length });
  return say(once ? "ask_beyond" : "ask_ignored");
}
