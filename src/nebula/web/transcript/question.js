// An approval: what is to be written, and the answers. It stands in the transcript, below what was said.

import { diffOf } from "../lib/diff.js";
import { hunksOf } from "../lib/hunks.js";
import { guard, html, nothing } from "../lib/lit.js";

export function question({ ask, traceId }, say, page) {
  const decide = (decision) => () => page.approve(ask.approval_id, decision);
  const refuse = (event) => {
    event.preventDefault();
    const reason = event.target.elements.reason.value.trim();
    if (reason) page.approve(ask.approval_id, reason);
  };
  return guard(
    [ask, say],
    () => html`<div class="question" role="group" aria-labelledby="question">
    <h2 tabindex="-1" id="question">${heading(ask, say)}</h2>
    <div class="subject">${subject(ask, say)}</div>
    <div class="answers">
      <button type="button" class="primary" @click=${(event) => agree(event, ask, page)}>${say("yes")}</button>
      <button type="button" @click=${decide("no")}>${say("no")}</button>
      ${ask.once ? nothing : html`<button type="button" @click=${decide("all")}>${say("all")}</button>`}
      <button type="button" @click=${() => page.stop(traceId)}>${say("stop")}</button>
      <form class="refuse" @submit=${refuse}>
        <input type="text" name="reason" placeholder=${say("reason")} aria-label=${say("reason")} autocomplete="off"><button type="submit">${say("refuse")}</button>
      </form>
    </div>
  </div>`,
  );
}

// Yes to what is ticked: all of it, some files or hunks, or after all nothing.
function agree(event, ask, page) {
  const boxes = [...event.target.closest(".question").querySelectorAll("input[type=checkbox]")];
  const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
  if (chosen.length === boxes.length) page.approve(ask.approval_id, "yes");
  else if (!chosen.length) page.approve(ask.approval_id, "no");
  else page.approve(ask.approval_id, "some", ask.changes ? { paths: chosen } : { hunks: chosen.map(Number) });
}

function heading(ask, say) {
  if (ask.network) return say("ask_network");
  if (ask.call) return say("ask_call", { tool: ask.tool });
  if (ask.read) return say("ask_read", { path: ask.path });
  return ask.changes ? say("ask_set", { count: ask.changes.length }) : say("ask_write", { path: ask.path });
}

function subject(ask, say) {
  const command = ask.command ? diffOf(ask.command, say("diff")) : nothing;
  return [command, about(ask, say), ...(ask.remarks ?? []).map((remark) => html`<p>${remark}</p>`)];
}

/** What the answer is about: one diff, a set of them to choose from, or the command that asks for the network. */
function about(ask, say) {
  if (ask.network) return diffOf(ask.network, say("diff"));
  if (ask.call) return diffOf(ask.call, say("diff"));
  if (ask.read) return nothing;
  if (!ask.changes) return hunks(ask, say);
  const one = (
    change,
  ) => html`<div class="beside"><input type="checkbox" name="path" value=${change.path} checked aria-label=${say("take", { path: change.path })}><details ?open=${ask.changes.length < 4}>
    <summary>${change.kind} ${change.renamed_from ? `${change.renamed_from} → ` : ""}${change.path} (+${change.added} −${change.removed})</summary>
    ${change.diff ? diffOf(change.diff, say("diff")) : nothing}
  </details></div>`;
  return ask.changes.map(one);
}

// A change in several places is taken place by place.
function hunks(ask, say) {
  const found = hunksOf(ask.diff);
  if (found.length < 2) return diffOf(ask.diff, say("diff"));
  const one = (text, place) => {
    const label = say("take_hunk", { place: place + 1, count: found.length });
    return html`<div class="hunk"><label><input type="checkbox" name="hunk" value=${place + 1} checked> ${label}</label>${diffOf(text, label)}</div>`;
  };
  return found.map(one);
}
