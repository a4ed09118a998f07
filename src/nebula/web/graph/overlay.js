// What lies over the picture as elements: turns at work, and what can be done with the card under the pointer.

import { icon, iconButton } from "../lib/icon.js";
import { html, nothing, repeat } from "../lib/lit.js";
import { CARD, detailAt, ROW } from "./layout/geometry.js";
import { stateOf, titleOf } from "./live.js";

/** @import { IconName } from "../lib/icon.js" */
/** @import { Say } from "../lib/words.js" */
/** @import { Brief } from "../state/state.js" */
/** @import { Size, Viewport } from "./layout/viewport.js" */
/** @import { LiveKind, Placed } from "./live.js" */
/** @import { Room } from "./picture/cards.js" */
/**
 * @typedef {object} Handles What can be done with a turn.
 * @property {(id: string) => void} branch
 * @property {(id: string) => void} merge
 * @property {(id: string) => void} retry
 * @property {(id: string) => void} compare
 * @property {(id: string) => void} openFlow
 */
/** @typedef {{ id: string, brief: Brief | undefined, room: Room, chosen: boolean, comparable: boolean, opens: string }} Hovered `opens`: the name of the flow that it opens. */

const TALLEST = 200; // pixels of what is shown beside a card
/** @type {Record<LiveKind, IconName>} */
export const SIGNS = { working: "loader-circle", asking: "hand", failed: "circle-alert" };

/** @param {Placed[]} live @param {Viewport} viewport @param {Say} say @param {(id: string) => void} watch */
export function drawLive(live, viewport, say, watch) {
  const { x, y, scale } = viewport;
  const far = detailAt(scale) === "far";
  const card = (/** @type {Placed} */ turn) => {
    const [width, height] = far ? [22, 22] : [CARD.width * scale, CARD.height * scale];
    const left = (turn.x - x) * scale - width / 2;
    const top = (turn.row * ROW - y) * scale - height / 2;
    const state = stateOf(turn, say);
    const label = `${state}: ${titleOf(turn, say)}`;
    const words = html`<span class="words"><span class="title">${titleOf(turn, say)}</span>${height > 40 ? html`<span class="state">${state}</span>` : nothing}</span>`;
    return html`<button type="button" class="live ${turn.kind}${far ? " dot" : height < 48 ? " small" : ""}" data-trace=${turn.id} aria-label=${far ? label : nothing} data-tip=${far ? label : nothing} @click=${() => watch(turn.id)}
      .style=${`transform:translate(${left}px,${top}px);width:${width}px;height:${height}px`}>${icon(SIGNS[turn.kind])}${far ? nothing : words}</button>`;
  };
  return repeat(live, (turn) => turn.id, card);
}

// Below the card, above it where there is no room, and within the panel however near to its side that is.
/** @param {Hovered | null} hovered @param {Size} panel @param {Say} say @param {Handles} handles @param {() => void} stay @param {() => void} leave */
export function drawHovered(hovered, panel, say, handles, stay, leave) {
  if (!hovered) return nothing;
  const { id, brief, room, chosen, comparable, opens } = hovered;
  const act = (/** @type {keyof Handles} */ name) => () => handles[name](id);
  const width = Math.max(room.width, 264);
  const left = Math.max(8, Math.min(room.left + (room.width - width) / 2, panel.width - width - 8));
  const above = room.top + room.height + TALLEST > panel.height;
  const top = above ? `calc(${room.top - 4}px - 100%)` : `${room.top + room.height + 4}px`;
  const about = brief?.opening || brief?.summary || "";
  return html`<div class="hovered${above ? " above" : ""}" .style=${`transform:translate(${left}px,${top});width:${width}px`} @pointerenter=${stay} @pointerleave=${leave}>
    <div class="handles" role="group" aria-label=${brief?.title ?? ""}>
      ${iconButton("plus", say("handle_branch"), act("branch"))}${iconButton("git-merge", say(chosen ? "handle_unmerge" : "handle_merge"), act("merge"), { pressed: chosen, disabled: !comparable && !chosen })}${iconButton("rotate-ccw", say("retry"), act("retry"))}${iconButton("columns-2", say("handle_compare"), act("compare"), { disabled: !comparable })}${opens ? iconButton("workflow", say("handle_open", { name: opens }), act("openFlow")) : nothing}
    </div>
    <div class="about">
      <b>${brief?.title ?? ""}</b>${about ? html`<p>${about}</p>` : nothing}${brief?.note ? html`<p class="note">${brief.note}</p>` : nothing}
    </div>
  </div>`;
}
