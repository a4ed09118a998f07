// Tells the reader, through the browser, of a question or an end while the page is out of sight.

import { isOver } from "../state/turn.js";

/** @import { Part } from "./drawing.js" */

export function canNotify() {
  return "Notification" in window;
}

// True once the reader has agreed.
export async function agreed() {
  if (!canNotify()) return false;
  return Notification.permission === "granted" || (await Notification.requestPermission()) === "granted";
}

// Each piece of news is told once.
/** @returns {Part} */
export function createNotifier() {
  /** @type {Set<string>} */
  const told = new Set();
  let begun = false;
  return {
    draw({ turns, view: { notify } }, say) {
      for (const turn of turns.values()) {
        const key = turn.ask ? `ask ${turn.ask.approval_id}` : isOver(turn) ? `end ${turn.traceId}` : "";
        if (!key || told.has(key)) continue;
        told.add(key);
        if (!begun || !notify || !document.hidden || !canNotify() || Notification.permission !== "granted") continue;
        const title = say(turn.ask ? "title_waiting" : "title_ended");
        const shown = new Notification(title, { body: turn.prompt.slice(0, 200), tag: key });
        shown.addEventListener("click", () => window.focus());
      }
      begun = true;
    },
  };
}
