// The drawer for those who want to see the tools at work. Closed unless asked for.

import { element } from "../lib/dom.js";

export function createBackstage(root, actions) {
  const view = { drawn: null, lang: "" };
  return {
    draw(state, open) {
      root.hidden = !open;
      const lang = document.documentElement.lang;
      if (!open || (view.drawn === state.backstage && view.lang === lang)) return;
      Object.assign(view, { drawn: state.backstage, lang });
      const say = actions.say();
      const entries = state.backstage.map(entry);
      root.replaceChildren(element("h2", {}, say("backstage")), ...(entries.length ? entries : [element("p", { class: "nothing" }, say("empty_backstage"))]));
      root.scrollTop = root.scrollHeight;
    },
  };
}

function entry({ title, text, start }) {
  if (start) return element("h3", {}, text);
  if (!text) return element("p", { class: "step" }, title);
  return element("details", {}, element("summary", {}, title), element("pre", {}, text));
}
