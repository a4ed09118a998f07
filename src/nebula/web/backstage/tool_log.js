// What the tools did in a finished turn, out of the texts that its node keeps. What is not ours is shown as it stands.

const SHORT = 100; // characters
const DEEPEST = 8;

/** @import { Step } from "../state/turn.js" */
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

/** @typedef {{ about: string, answer: string, refused?: boolean, taken?: number, of?: number, proposed?: string, left?: string }} Decision `proposed`: the change, as a diff; `left`: what of it was left out. */

// What the reader decided otherwise than by a plain yes: a part of a change, or a refusal with its words.
/** @param {{ role: string, text: string }[]} texts @returns {Decision[]} */
export function decided(texts) {
  return roundsIn(texts).flatMap((round) => {
    const uses = listed(round.message.ToolUse.tool_uses);
    const ours = (/** @type {any} */ each) =>
      typeof each?.about === "string" && typeof each.answer === "string" && (each.refused || each.of);
    const of = (/** @type {any[]} */ all, /** @type {string} */ name, /** @type {any} */ each) =>
      all.find((found) => found[name] === each.tool_use_id);
    return listed(round.decisions)
      .filter(ours)
      .map((each) => ({
        ...each,
        proposed: proposalOf(of(uses, "id", each)?.args),
        left: each.of ? leftOut(of(listed(round.results), "tool_use_id", each)) : "",
      }));
  });
}

// The model's list of steps as it was at last.
/** @param {{ role: string, text: string }[]} texts @returns {Step[]} */
export function stepsOf(texts) {
  const calls = roundsIn(texts).flatMap((round) => listed(round.message.ToolUse.tool_uses));
  const last = calls.findLast((use) => use.name === "todo");
  return listed(last?.args?.items).filter((each) => typeof each?.content === "string");
}

// What a tool was asked to write, as a diff without places.
/** @param {any} args */
function proposalOf(args) {
  const edits = listed(args?.edits);
  const whole = args?.content ?? args?.new_content;
  const pairs = edits.length ? edits.map((each) => [each?.old_text, each?.new_text]) : [["", whole]];
  const sides = pairs.filter(([old, now]) => typeof old === "string" && typeof now === "string");
  return sides
    .map(([old, now]) => [signed(old, "-"), signed(now, "+")])
    .map(([old, now]) => `@@ -1,${countLines(old)} +1,${countLines(now)} @@\n${old}${now}`)
    .join("");
}

// The model is told of what was left out: words, and then a diff.
/** @param {any} result */
function leftOut(result) {
  const remark = listed(result?.content)[0]?.Json?.remark;
  const start = typeof remark === "string" ? remark.search(/^@@ /m) : -1;
  return start > 0 ? remark.slice(start) : "";
}

/** @param {string} text @param {string} sign */
function signed(text, sign) {
  return text ? `${text.replace(/\n$/, "").replace(/^/gm, sign)}\n` : "";
}

/** @param {string} text */
function countLines(text) {
  return text.split("\n").length - 1;
}

/** @param {{ role: string, text: string }[]} texts @returns {any[]} */
function roundsIn(texts) {
  return texts.filter((each) => each.role === "tool").flatMap((each) => parsed(each.text) ?? []);
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

/** @typedef {Entry & { status: string, result: string }} ToolCall `status`: empty while it is at work. */

// Each call with what came of it, which is told later as an entry of its own.
/** @param {Entry[]} entries @returns {ToolCall[]} */
export function callsOf(entries) {
  /** @type {ToolCall[]} */
  const calls = [];
  for (const { title, text } of entries) {
    const [, name, status] = /^(.+) → (\w+)$/.exec(title) ?? [];
    const call = calls.find((each) => each.title === name && !each.status);
    if (call) Object.assign(call, { status, result: text });
    else calls.push({ title, text, status: "", result: "" });
  }
  return calls;
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
