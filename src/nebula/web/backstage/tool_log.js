// What the tools did in a finished turn, out of the texts that its node keeps. What is not ours is shown as it stands.

const SHORT = 100; // characters
const DEEPEST = 8;

/** @typedef {{ title: string, text: string }} Entry */

/** @param {{ role: string, text: string }[]} texts @returns {Entry[]} */
export function roundsOf(texts) {
  return texts.filter((each) => each.role === "tool").flatMap((each) => entriesOf(each.text));
}

// What the reader said into a turn while it was at work.
/** @param {{ role: string, text: string }[]} texts @returns {string[]} */
export function meanwhile(texts) {
  return texts
    .filter((each) => each.role === "tool")
    .map((each) => parsed(each.text)?.said)
    .filter((said) => typeof said === "string" && said);
}

/** @typedef {{ about: string, answer: string, refused?: boolean, taken?: number, of?: number }} Decision */

// What the reader decided otherwise than by a plain yes: a part of a change, or a refusal with its words.
/** @param {{ role: string, text: string }[]} texts @returns {Decision[]} */
export function decided(texts) {
  return texts
    .filter((each) => each.role === "tool")
    .flatMap((each) => listed(parsed(each.text)?.decisions))
    .filter((each) => typeof each?.about === "string" && typeof each.answer === "string" && (each.refused || each.of));
}

/** @param {string} text @returns {Entry[]} */
function entriesOf(text) {
  const round = parsed(text);
  if (!round) return [{ title: "", text }];
  const results = listed(round.results);
  return listed(round.message.ToolUse.tool_uses).flatMap((use) => {
    const result = results.find((each) => each.tool_use_id === use.id);
    const call = { title: String(use.name), text: shown(use.args) };
    return result
      ? [call, { title: `${use.name} → ${result.status}`, text: listed(result.content).map(block).join("\n") }]
      : [call];
  });
}

// What a tool was given, or answered, for people: by name, text as text. What is no object stands as it is.
/** @param {string} text @returns {{ name: string, text: string, lines: number }[]} `lines` is 0 where it goes behind the name. */
export function fieldsOf(text) {
  const found = text.startsWith("{") ? json(text) : null;
  if (found === null || !Object.keys(found).length) return [{ name: "", text, lines: 0 }];
  return Object.entries(found).map(([name, value]) => {
    const told = readable(value).replace(/\n$/, "");
    const long = told.length > SHORT || String(value).includes("\n") || told.includes("\n");
    return { name, text: told, lines: long ? told.split("\n").length : 0 };
  });
}

// Names and values line by line, what is inside further in.
/** @param {any} value @param {number} depth @returns {string} */
function readable(value, depth = 0) {
  if (typeof value !== "object" || value === null) return String(value);
  if (depth === DEEPEST) return "…";
  const parts = Array.isArray(value)
    ? value.map((each) => ["-", each])
    : Object.entries(value).map(([name, each]) => [`${name}:`, each]);
  return parts.map(([sign, each]) => `${sign} ${readable(each, depth + 1).replaceAll("\n", "\n  ")}`).join("\n");
}

/** @param {{ Text?: string, Json?: any }} part */
function block(part) {
  return shown(part.Text ?? part.Json ?? part);
}

/** @param {string} text @returns {any} */
function parsed(text) {
  const found = json(text);
  return found?.message?.ToolUse ? found : null;
}

/** @param {string} text @returns {any} Null where it is none. */
function json(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @param {any} found @returns {any[]} */
function listed(found) {
  return Array.isArray(found) ? found : [];
}

/** @param {any} value */
function shown(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
