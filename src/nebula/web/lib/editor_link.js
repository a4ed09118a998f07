// A path of the project as an address that the reader's editor answers to.

/** @import { State } from "../state/state.js" */

const PATH = /^(?:\.\/)?([\w@+-][\w@+.-]*(?:\/[\w@+.-]+)*\.\w{1,8})(?::(\d{1,7}))?$/;

// Null where there is no project, no editor, or the path leads out of it.
/** @param {State["project"]} project @param {string} path @param {number | string} line */
export function editorLink({ root, editorUrl }, path, line = 1) {
  const inside = path !== "" && !path.startsWith("/") && !path.split("/").includes("..");
  if (!root || !editorUrl || !inside) return null;
  const whole = encodeURI(`${root}/${path}`).replaceAll("#", "%23").replaceAll("?", "%3F");
  const url = editorUrl.replaceAll("{path}", whole).replaceAll("{line}", String(line));
  return /^[a-z][a-z0-9+.-]*:/i.test(url) && !/^(javascript|data|blob|vbscript):/i.test(url) ? url : null;
}

// The same for a word of an answer that looks like a file, perhaps with a line: `src/app.py:12`.
/** @param {State["project"]} project @param {string} word */
export function linkOfWord(project, word) {
  const found = PATH.exec(word);
  return found && found[1].includes("/") ? editorLink(project, found[1], found[2]) : null;
}
