// Tells the reader, through the browser, of a question or an end while the page is out of sight.

/** @import { Turns } from "../state/turns.js" */
/** @import { Say } from "./words.js" */

import { isOver } from "../state/turn.js";

export function canNotify() {
  return "Notification" in window;
}

// True once the reader has agreed.
export async function agreed() {
  if (!canNotify()) return false;
  return Notification.permission === "granted" || (await Notification.requestPermission()) === "granted";
}

// Call it with every change of the turns: each piece of news is told once.
export function createNotifier() {
  /** @type {Set<string>} */
  const told = new Set();
  let begun = false;
  /** @param {Turns} turns @param {boolean} wanted @param {Say} say */
  return (turns, wanted, say) => {
    for (const turn of turns.values()) {
      const key = turn.ask ? `ask ${turn.ask.approval_id}` : isOver(turn) ? `end ${turn.traceId}` : "";
      if (!key || told.has(key)) continue;
      told.add(key);
      if (!begun || !wanted || !document.hidden || !canNotify() || Notification.permission !== "granted") continue;
      const title = say(turn.ask ? "title_waiting" : "title_ended");
      const shown = new Notification(title, { body: turn.prompt.slice(0, 200), tag: key });
      shown.addEventListener("click", () => window.focus());
    }
    begun = true;
  };
}
