// The files that tries changed, one below the other; the tries that did something else stand side by side, line by line.

import { html, nothing } from "../lib/lit.js";

/** @import { Say } from "../lib/words.js" */
/** @import { Tried, TriedColumn, TriedFile } from "../state/state.js" */
/** @import { RaceActions } from "./actions.js" */

const FEW = 6;
/** @type {Record<string, string>} */
const KINDS = { "+": "added", "-": "removed" };

/** @param {Tried} tried @param {number[]} numbers The number of each of its tries in the race. @param {Say} say @param {RaceActions["take"] | null} take Null while some are still at work. */
export function triedFiles({ ids, files }, numbers, say, take) {
  const name = (/** @type {number[]} */ places) => places.map((place) => numbers[place - 1]).join(" = ");
  const about = (/** @type {TriedFile} */ { kind, columns }) => {
    if (kind === "alike") return say("race_alike");
    if (kind === "only") return say("race_only", { number: name(columns[0].numbers) });
    return columns.map((column) => name(column.numbers)).join(" | ");
  };
  const head = (/** @type {TriedFile} */ file) => (/** @type {TriedColumn} */ column) => {
    const number = name(column.numbers);
    const label = say("race_take_file", { path: file.path, number });
    const act = () => take?.(ids[column.numbers[0] - 1], [file.path]);
    const button = html`<button type="button" class="small" aria-label=${label} @click=${act}>${say("race_take_this")}</button>`;
    return html`<th scope="col">${say("race_try")} ${number} <span class="count">+${column.added} −${column.removed}</span> ${column.note}
      ${take ? button : nothing}</th>`;
  };
  const one = (/** @type {TriedFile} */ file) => html`<details ?open=${files.length < FEW}>
    <summary>${file.path} <span class="count">${about(file)}</span></summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${file.path}><table class="aligned">
      <thead><tr><th scope="col"><span class="hidden">${say("race_line")}</span></th>${file.columns.map(head(file))}</tr></thead>
      <tbody>${file.rows.map((row) => drawRow(row, file.columns.length))}</tbody>
    </table></div>
    ${file.left_out ? html`<p class="hint">${say("race_more_lines", { count: file.left_out })}</p>` : nothing}
  </details>`;
  if (!files.length) return html`<p>${say("files_none")}</p>`;
  return html`<h3>${say("race_files")}</h3>${files.map(one)}`;
}

/** @param {TriedFile["rows"][number]} row @param {number} columns */
function drawRow(row, columns) {
  if (row === null) return html`<tr class="gap"><td colspan=${columns + 1}>…</td></tr>`;
  const [line, ...cells] = row;
  return html`<tr><td class="number">${line || ""}</td>${cells.map(([sign, text]) => html`<td class=${KINDS[sign] ?? (sign ? "" : "absent")}><pre>${sign ? `${sign} ${text}` : ""}</pre></td>`)}</tr>`;
}
