// What was said on the way to the selected node, and the turn that is under way behind it.
//
//   const transcript = createTranscript(root, { say, bodies, merge });
//   transcript.draw(state, path);

import { element } from "../lib/dom.js";
import { turnHere } from "../state/reduce.js";
import { isOver, LOST } from "../state/turn.js";

const TURNS_AT_FIRST = 12;

export function createTranscript(root, actions) {
  const view = { drawn: "", more: 0, selected: null };
  root.setAttribute("tabindex", "-1");
  return {
    draw(state, path) {
      if (view.selected !== state.selected) Object.assign(view, { more: 0, selected: state.selected });
      const shown = path.slice(-(TURNS_AT_FIRST + view.more));
      actions.bodies(shown.filter((id) => !state.bodies.has(id)));
      const turn = liveTurn(state);
      const nearEnd = root.scrollHeight - root.scrollTop - root.clientHeight < 80;
      const moved = root.dataset.selected !== String(state.selected);
      root.dataset.selected = String(state.selected);
      const say = actions.say();
      const earlier = path.length - shown.length;
      const showMore = () => {
        view.more += 50;
        this.draw(state, path);
      };
      root.replaceChildren(
        ...(earlier ? [element("button", { type: "button", class: "quiet", onclick: showMore }, say("earlier", { count: earlier }))] : []),
        ...shown.map((id) => drawNode(state, id, say)),
        ...(turn ? [drawTurn(turn, say)] : []),
        ...(shown.length || turn ? [] : [nothing(state, say)]),
      );
      if (moved || nearEnd) root.scrollTop = moved && !turn ? startOfLast(root) : root.scrollHeight;
    },
  };
}

// A turn is shown where it continues, until its node can be.
function liveTurn(state) {
  const turn = turnHere(state);
  if (turn && isOver(turn) && turn.nodeId && (turn.nodeId !== state.selected || state.bodies.has(turn.nodeId))) return null;
  return turn;
}

function nothing({ flow }, say) {
  if (flow.problem) return element("p", { class: "nothing warning", role: "alert" }, say("unreadable", { problem: flow.problem }));
  return element("p", { class: "nothing" }, say(flow.nodes.length ? "pick" : "no_nodes"));
}

function startOfLast(root) {
  const last = root.lastElementChild;
  return last ? last.offsetTop - root.offsetTop - 12 : 0;
}

function drawNode(state, id, say) {
  const body = state.bodies.get(id);
  const brief = state.briefs.get(id);
  const selected = id === state.selected;
  if (!body) return element("article", { class: "turn waiting", "data-id": id }, brief?.title ?? "…");
  const kind = selected ? "turn selected" : "turn";
  if (body.problem) return element("article", { class: `${kind} warning`, "data-id": id }, say("unreadable", { problem: body.problem }));
  return element(
    "article",
    { class: kind, "data-id": id },
    speech("prompt", say("you"), body.prompt),
    speech("response", say("answer"), body.response),
    facts(state, body, say),
  );
}

function speech(kind, who, text) {
  return element("div", { class: `speech ${kind}` }, element("h2", {}, who), element("div", { class: "text" }, text));
}

function facts(state, body, say) {
  const parts = [];
  if (body.model) parts.push(body.model);
  if (body.timestamp) parts.push(new Date(body.timestamp).toLocaleString(document.documentElement.lang));
  if (body.usage) parts.push(`↑${body.usage.input} ↓${body.usage.output}`);
  if (body.files?.length) parts.push(body.files.map((file) => file.path).join(", "));
  return element(
    "footer",
    {},
    body.summary ? element("p", { class: "summary" }, element("b", {}, `${say("summary")} `), body.summary) : null,
    body.tags.length ? element("p", { class: "tags" }, ...body.tags.map((tag) => element("span", { class: "tag" }, tag))) : null,
    element("p", { class: "facts" }, parts.join(" · ")),
  );
}

function drawTurn(turn, say) {
  return element(
    "article",
    { class: "turn live", "aria-live": "polite" },
    speech("prompt", say("you"), turn.prompt),
    ...turn.said.map(({ text, act }) => speech(`response act-${act}`, say("answer"), text)),
    ...turn.remarks.map((text) => element("p", { class: "remark" }, text)),
    turn.status === LOST ? element("p", { class: "remark" }, say("turn_lost")) : null,
    turn.line ? element("footer", {}, element("p", { class: "facts" }, turn.line)) : null,
  );
}
