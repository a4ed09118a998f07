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
  return guard([ask, say], () => html`<div class="question" role="group" aria-labelledby="question">
    <h2 tabindex="-1" id="question">${say("ask_write", { path: ask.path })}</h2>
    <pre class="diff" tabindex="0" aria-label=${say("diff")}>${lines(ask.diff)}</pre>
    <div class="answers">
      <button type="button" class="primary" @click=${decide("yes")}>${say("yes")}</button>
      <button type="button" @click=${decide("no")}>${say("no")}</button>
      <button type="button" @click=${decide("all")}>${say("all")}</button>
      <form class="refuse" @submit=${refuse}>
        <input type="text" name="reason" placeholder=${say("reason")} aria-label=${say("reason")} autocomplete="off"><button type="submit">${say("refuse")}</button>
      </form>
    </div>
  </div>`);
}

function lines(diff) {
  const kind = (line, place) => (place < 2 && HEADS.test(line) ? "place" : (KINDS[line[0]] ?? ""));
  const all = diff.replace(/\n$/, "").split("\n");
  return all.map((line, place) => html`<span class="line ${kind(line, place)}">${`${line}\n`}</span>`);
}
