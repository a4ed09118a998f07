// The row below a turn: what can be done with it, its tags, and what is known about it.

import { dollars, roughly } from "../figures/measures.js";
import { fieldOf } from "../lib/dom.js";
import { icon, iconButton } from "../lib/icon.js";
import { html, nothing } from "../lib/lit.js";
import { timeOf, wholeTimeOf } from "../lib/time.js";
import { more } from "./more.js";
import { perform } from "./turn_parts.js";

/** @import { Edits } from "../graph/edits.js" */
/** @import { Labels } from "../lib/markdown.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Body } from "../state/state.js" */
/** @import { ReadingActions } from "./turn_parts.js" */

const COPIED_MS = 2000;

/** @param {Body} body @param {boolean} hasFiles @param {Say} say @param {Labels} labels @param {ReadingActions} actions @param {boolean} selected */
export function acts(body, hasFiles, say, labels, { turns, edits, files, operations }, selected) {
  const { id } = body;
  return html`<div class="acts">
    <span class="icons" role="group" aria-label=${say("turn_actions")}>
      ${body.response ? copyButton(body.response, labels) : nothing}
      ${iconButton("rotate-ccw", say("retry"), () => turns.retry(id))}
      ${iconButton("pencil", say("edit"), () => turns.edit(id))}
      ${hasFiles ? iconButton("file-diff", say("files"), () => files.lookAtFiles(id), { kind: "files-of" }) : nothing}
      ${iconButton("trash", say("delete"), () => edits.remove([id]))}
      ${selected ? iconButton("git-merge", say("cmd_merge"), () => perform(operations, "merge"), { kind: "merging" }) : nothing}
      ${selected ? more(say, operations) : nothing}
    </span>
    ${body.pinned ? html`<span class="pinned" role="img" aria-label=${say("is_pinned")} data-tip=${say("is_pinned")}>${icon("pin")}</span>` : nothing}
    ${facts(body)} ${tags(body, say, edits)}
  </div>`;
}

/** @param {string} text @param {Labels} labels */
function copyButton(text, labels) {
  const copy = async (/** @type {Event} */ event) => {
    const button = /** @type {HTMLElement} */ (event.currentTarget);
    await navigator.clipboard.writeText(text);
    button.classList.add("done");
    setTimeout(() => button.classList.remove("done"), COPIED_MS);
  };
  return html`<button type="button" class="icon-button copy" aria-label=${labels.copy} data-tip=${labels.copy} @click=${copy}>${icon("copy")}${icon("check")}</button>`;
}

/** @param {Body} body @param {Say} say @param {Edits} edits */
function tags({ id, tags: known }, say, { tag }) {
  const one = (/** @type {string} */ name) =>
    html`<span class="tag">${name}<button type="button" aria-label=${say("remove", { title: name })} @click=${() =>
      tag(
        id,
        known.filter((each) => each !== name),
      )}>${icon("x")}</button></span>`;
  const add = (/** @type {Event} */ event) => {
    const field = /** @type {HTMLInputElement} */ (
      /** @type {HTMLFormElement} */ (event.target).elements.namedItem("tag")
    );
    const typed = fieldOf(event, "tag").split(/[,、]/);
    const wanted = typed.map((each) => each.trim()).filter(Boolean);
    field.value = "";
    if (wanted.length) tag(id, [...new Set([...known, ...wanted])]);
  };
  return html`<span class="tags">${known.map(one)}<form @submit=${add}><input name="tag" type="text" autocomplete="off" placeholder=${say("add_tag")} aria-label=${say("tags")}></form></span>`;
}

/** @param {Body} body */
function facts({ model, timestamp, usage }) {
  const { lang } = document.documentElement;
  const cost = usage?.cost ? dollars(usage.cost) : "";
  const tokens = usage ? `↑${usage.input} ↓${usage.output}` : "";
  const all = [model, timestamp ? wholeTimeOf(timestamp, lang) : "", tokens, cost].filter(Boolean).join(" · ");
  const short = [model, timestamp ? timeOf(timestamp, lang) : "", usage?.cost ? roughly(usage.cost) : ""]
    .filter(Boolean)
    .join(" · ");
  return html`<span class="facts" data-tip=${all}>${short}</span>`;
}
