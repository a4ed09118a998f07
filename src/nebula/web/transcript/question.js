// An approval: what is to be written, and the answers. It stands in the transcript, below what was said.

import { guard, html } from "../lib/lit.js";

const HEADS = /^(---|\+\+\+) /;
const KINDS = { "+": "added", "-": "removed", "@": "place" };

export function question(ask, say, page) {
  const decide = (decision) => () => page.approve(ask.approval_id, decision);
  const refuse = (event) => {
    event.preventDefault();
    const reason = event.target.elements.reason.value.trim();
    if (reason) page.approve(ask.approval_id, reason);
  };
  const agree = (event) => {
    const boxes = [...event.target.closest(".question").querySelectorAll("input[name=path]")];
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
    if (chosen.length === boxes.length) page.approve(ask.approval_id, "yes");
    else if (chosen.length) page.approve(ask.approval_id, "some", chosen);
    else page.approve(ask.approval_id, "no");
  };
  return guard([ask, say], () => html`<div class="question" role="group" aria-labelledby="question">
    <h2 tabindex="-1" id="question">${heading(ask, say)}</h2>
    ${subject(ask, say)}
    <div class="answers">
      <button type="button" class="primary" @click=${agree}>${say("yes")}</button>
      <button type="button" @click=${decide("no")}>${say("no")}</button>
      <button type="button" @click=${decide("all")}>${say("all")}</button>
      <form class="refuse" @submit=${refuse}>
        <input type="text" name="reason" placeholder=${say("reason")} aria-label=${say("reason")} autocomplete="off"><button type="submit">${say("refuse")}</button>
      </form>
    </div>
  </div>`);
}

function heading(ask, say) {
  if (ask.network) return say("ask_network");
  return ask.changes ? say("ask_set", { count: ask.changes.length }) : say("ask_write", { path: ask.path });
}

/** What the answer is about: one diff, a set of them to choose from, or the command that asks for the network. */
function subject(ask, say) {
  const diff = (text) => html`<pre class="diff" tabindex="0" aria-label=${say("diff")}>${lines(text)}</pre>`;
  if (ask.network) return diff(ask.network);
  if (!ask.changes) return diff(ask.diff);
  const one = (change) => html`<details ?open=${ask.changes.length < 4}>
    <summary><input type="checkbox" name="path" value=${change.path} checked aria-label=${say("take", { path: change.path })}>
      ${change.kind} ${change.renamed_from ? `${change.renamed_from} → ` : ""}${change.path} (+${change.added} −${change.removed})</summary>
    ${change.diff ? diff(change.diff) : ""}
  </details>`;
  return [...ask.changes.map(one), ...(ask.remarks ?? []).map((remark) => html`<p>${remark}</p>`)];
}

function lines(diff) {
  const kind = (line, place) => (place < 2 && HEADS.test(line) ? "place" : (KINDS[line[0]] ?? ""));
  const all = diff.replace(/\n$/, "").split("\n");
  return all.map((line, place) => html`<span class="line ${kind(line, place)}">${`${line}\n`}</span>`);
}
