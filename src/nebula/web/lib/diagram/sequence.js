// A Mermaid sequence diagram as who takes part and what goes between them, one below the other.

import { wordsOf } from "./flowchart.js";

/** @typedef {{ kind: "message" | "note" | "part", from: number, to: number, text: string, dotted: boolean, head: boolean }} Step */
/** @typedef {{ people: string[], steps: Step[] }} Sequence */

const PERSON = /^(?:create\s+)?(?:participant|actor)\s+(\S+)(?:\s+as\s+(.+))?$/;
const MESSAGE = /^(.+?)\s*(<<)?(--?)(>>|>|x|\))\s*[+-]?\s*([^:]+?)\s*:\s*(.*)$/;
const NOTE = /^note\s+(?:over|left of|right of)\s+([^:]+?)\s*:\s*(.*)$/i;
const PART = /^(loop|alt|else|opt|par|and|critical|option|break)\b\s*(.*)$/;
const ASIDE = /^(?:end|autonumber.*|activate\b.*|deactivate\b.*|destroy\b.*|box\b.*|rect\b.*|title\b.*)$/;

/** @param {string} text @returns {Sequence | null} */
export function sequenceOf(text) {
  const [first, ...lines] = text
    .split("\n")
    .map((line) => line.replace(/%%.*/, "").trim())
    .filter(Boolean);
  if (first !== "sequenceDiagram") return null;
  /** @type {Map<string, string>} */
  const people = new Map();
  const place = (/** @type {string} */ id) => {
    if (!people.has(id)) people.set(id, id);
    return [...people.keys()].indexOf(id);
  };
  /** @type {Step[]} */
  const steps = [];
  for (const line of lines) {
    const person = PERSON.exec(line);
    const note = NOTE.exec(line);
    const part = PART.exec(line);
    const message = person || note || part ? null : MESSAGE.exec(line);
    const plain = { dotted: false, head: false };
    if (person) people.set(person[1], wordsOf(person[2] ?? person[1]));
    else if (note) {
      const places = note[1].split(/\s*,\s*/).map(place);
      steps.push({
        kind: "note",
        from: Math.min(...places),
        to: Math.max(...places),
        text: wordsOf(note[2]),
        ...plain,
      });
    } else if (part) steps.push({ kind: "part", from: 0, to: 0, text: `${part[1]} ${wordsOf(part[2])}`, ...plain });
    else if (message) {
      const [, from, , dash, head, to, said] = message;
      const ends = { from: place(from), to: place(to) };
      steps.push({ kind: "message", ...ends, text: wordsOf(said), dotted: dash === "--", head: head !== ">" });
    } else if (!ASIDE.test(line)) return null;
  }
  return people.size ? { people: [...people.values()], steps } : null;
}
