// The quiet strip between two acts: that work goes on, and for how long. An approval turns it into the question.
//
//   const stage = createStage(root, { say, approve, stop });
//   stage.draw(state);

import { element } from "../lib/dom.js";
import { turnInSight } from "../state/reduce.js";

const TELL_EVERY_S = 5;

export function createStage(root, actions) {
  /** @type {any} */
  const view = { turn: null, shown: "", clock: null, heard: null };
  setInterval(() => tick(view), 1000);
  return {
    draw(state) {
      const turn = turnInSight(state);
      view.turn = turn;
      const asked = turn?.ask?.approval_id ?? "";
      const shown = turn ? `${turn.traceId} ${asked} ${turn.curtain} ${turn.stopping} ${document.documentElement.lang}` : "";
      if (shown === view.shown) return;
      view.shown = shown;
      root.hidden = !turn;
      const say = actions.say();
      if (!turn) root.replaceChildren();
      else if (turn.ask) ask(root, turn.ask, say, actions);
      else strip(root, view, turn, say, actions);
      tick(view);
    },
  };
}

function strip(root, view, turn, say, actions) {
  view.clock = element("span", { class: "clock", "aria-hidden": "true" });
  view.heard = element("span", { class: "heard", role: "status", "aria-live": "polite" }, say("working"));
  const stop = element("button", { type: "button", onclick: () => actions.stop(turn.traceId), disabled: turn.stopping }, turn.stopping ? say("stopping") : say("stop"));
  root.replaceChildren(
    element("div", { class: "strip" }, element("span", { class: "pulse", "aria-hidden": "true" }), view.heard, view.clock, stop),
  );
  view.say = say;
}

function tick(view) {
  const { turn } = view;
  if (!turn || !view.clock?.isConnected) return;
  const seconds = Math.max(0, Math.round((Date.now() - turn.curtainSince) / 1000));
  view.clock.textContent = view.say("seconds", { seconds });
  if (seconds && seconds % TELL_EVERY_S === 0) view.heard.setAttribute("aria-label", `${view.say("working")} ${view.clock.textContent}`);
}

function ask(root, question, say, actions) {
  const decide = (decision) => () => actions.approve(question.approval_id, decision);
  const reason = element("input", { type: "text", placeholder: say("reason"), "aria-label": say("reason"), autocomplete: "off" });
  const refuse = element(
    "form",
    {
      class: "refuse",
      onsubmit: (event) => {
        event.preventDefault();
        if (reason.value.trim()) actions.approve(question.approval_id, reason.value.trim());
      },
    },
    reason,
    element("button", { type: "submit" }, say("refuse")),
  );
  const yes = element("button", { type: "button", class: "primary", onclick: decide("yes") }, say("yes"));
  const heading = element("h2", { tabindex: "-1", id: "question" }, say("ask_write", { path: question.path }));
  root.replaceChildren(
    element(
      "div",
      { class: "question", role: "group", "aria-labelledby": "question" },
      heading,
      element("pre", { class: "diff", tabindex: "0", "aria-label": say("diff") }, ...lines(question.diff)),
      element(
        "div",
        { class: "answers" },
        yes,
        element("button", { type: "button", onclick: decide("no") }, say("no")),
        element("button", { type: "button", onclick: decide("all") }, say("all")),
        refuse,
      ),
    ),
  );
  // Not onto "yes": a key meant for the text field must not approve anything.
  heading.focus();
}

function lines(diff) {
  const kinds = { "+": "added", "-": "removed", "@": "place" };
  const heads = /^(---|\+\+\+) /;
  const kind = (line, place) => (place < 2 && heads.test(line) ? "place" : (kinds[line[0]] ?? ""));
  const all = diff.replace(/\n$/, "").split("\n");
  return all.map((line, place) => element("span", { class: `line ${kind(line, place)}` }, `${line}\n`));
}
