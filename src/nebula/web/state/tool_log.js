// What the tools did in a finished turn, out of the texts that its node keeps. What is not ours is shown as it stands.

/** @typedef {{ title: string, text: string }} Entry */

/** @param {{ role: string, text: string }[]} texts @returns {Entry[]} */
export function roundsOf(texts) {
  return texts.filter((each) => each.role === "tool").flatMap((each) => entriesOf(each.text));
}

// What the reader said into a turn while it was at work.
/** @param {{ role: string, text: string }[]} texts @returns {string[]} */
export function meanwhile(texts) {
  return texts.filter((each) => each.role === "tool").map((each) => parsed(each.text)?.said).filter((said) => typeof said === "string" && said);
}

/** @param {string} text @returns {Entry[]} */
function entriesOf(text) {
  const round = parsed(text);
  if (!round) return [{ title: "", text }];
  const results = listed(round.results);
  return listed(round.message.ToolUse.tool_uses).flatMap((use) => {
    const result = results.find((each) => each.tool_use_id === use.id);
    const call = { title: String(use.name), text: shown(use.args) };
    return result ? [call, { title: `${use.name} → ${result.status}`, text: listed(result.content).map(block).join("\n") }] : [call];
  });
}

/** @param {{ Text?: string, Json?: any }} part */
function block(part) {
  return shown(part.Text ?? part.Json ?? part);
}

/** @param {string} text @returns {any} */
function parsed(text) {
  try {
    const found = JSON.parse(text);
    return found?.message?.ToolUse ? found : null;
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
