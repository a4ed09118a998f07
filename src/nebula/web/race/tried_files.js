// The files that tries changed, one below the other; the tries that did something else stand side by side, line by line.

import { counts } from "../files/file_list.js";
import { marked } from "../lib/diff.js";
import { element } from "../lib/dom.js";
import { colouredLines } from "../lib/highlight.js";
import { icon } from "../lib/icon.js";
import { guard, html, nothing } from "../lib/lit.js";
import { pathOf } from "../lib/path.js";

/** @import { Say } from "../lib/words.js" */
/** @import { Tried, TriedColumn, TriedFile } from "../state/state.js" */
/** @import { RaceActions } from "./actions.js" */

const FEW = 6;
/** @type {Record<string, string>} */
const KINDS = { "+": "added", "-": "removed" };

/** @param {Tried} tried @param {number[]} numbers The number of each of its tries in the race. @param {Say} say @param {RaceActions["take"] | null} take Null while some are still at work. */
export function triedFiles({ ids, files }, numbers, say, take) {
  const name = (/** @type {number[]} */ places) => places.map((place) => numbers[place - 1]).join(", ");
  const about = (/** @type {TriedFile} */ { kind, columns }) => {
    if (kind === "alike") return say("race_alike");
    if (kind === "only") return say("race_only", { number: name(columns[0].numbers) });
    return say("race_versions", { count: columns.length });
  };
  const head = (/** @type {TriedFile} */ file) => (/** @type {TriedColumn} */ column) => {
    const number = name(column.numbers);
    const label = say("race_take_file", { path: file.path, number });
    const act = () => take?.(ids[column.numbers[0] - 1], [file.path]);
    const button = html`<button type="button" class="small" aria-label=${label} @click=${act}>${say("race_take_this")}</button>`;
    return html`<th scope="col">${say("race_try")} ${number} ${counts(column)} ${column.note}
      ${take ? button : nothing}</th>`;
  };
  const one = (/** @type {TriedFile} */ file) => html`<details class="tried" ?open=${files.length < FEW}>
    <summary>${icon("file-diff")}${pathOf(file.path)}<span class="hint count">${about(file)}</span></summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${file.path}><table class="aligned">
      <thead><tr><th scope="col"><span class="hidden">${say("race_line")}</span></th>${file.columns.map(head(file))}</tr></thead>
      ${guard([file], () => html`<tbody>${rowsOf(file)}</tbody>`)}
    </table></div>
    ${file.left_out ? html`<p class="hint">${say("race_more_lines", { count: file.left_out })}</p>` : nothing}
  </details>`;
  if (!files.length) return html`<p>${say("files_none")}</p>`;
  return html`<h3>${say("race_files")}</h3>${files.map(one)}`;
}

/** @param {TriedFile} file */
function rowsOf({ path, rows, columns }) {
  const codeOf = (/** @type {number} */ column) => (/** @type {TriedFile["rows"][number]} */ row) => {
    const cell = row?.[column];
    return element("code", {}, Array.isArray(cell) ? cell[1] : "");
  };
  const codes = columns.map((_, at) => rows.map(codeOf(at + 1)));
  const language = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  codes.forEach((column) => colour(column, language));
  return rows.map((row, place) => {
    if (row === null) return html`<tr class="gap"><td colspan=${columns.length + 1}>…</td></tr>`;
    const [line, ...cells] = row;
    return html`<tr><td class="number">${line || ""}</td>${cells.map(([sign], at) => html`<td class=${KINDS[sign] ?? (sign ? "" : "absent")}>${sign ? codes[at][place] : nothing}</td>`)}</tr>`;
  });
}

// A column is coloured as a whole: a string that goes over lines is one.
/** @param {HTMLElement[]} column @param {string} language */
async function colour(column, language) {
  const coloured = await colouredLines(column.map((code) => code.textContent).join("\n"), language);
  coloured?.forEach((pieces, place) => column[place]?.replaceChildren(...marked(pieces)));
}
