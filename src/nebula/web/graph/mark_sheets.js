// What is asked before a turn is annotated or connected to another, a branch folded into a flow of its own or a tag renamed; and turns in no flow.

import { bar } from "../dialogs/bar.js";
import { picker, turnChoices, wanted } from "../dialogs/picker.js";
import { carriedOut, named } from "../dialogs/questions.js";
import { fieldOf, valueOf } from "../lib/dom.js";
import { iconButton } from "../lib/icon.js";
import { html } from "../lib/lit.js";
import { timeOf } from "../lib/time.js";
import { wouldCircle } from "../state/topology.js";

/** @import { Sheet } from "../dialogs/dialogs.js" */

// A note that was begun stays until it is saved, however its sheet was left.
/** @type {Map<string, string>} */
const begun = new Map();

/** @param {Sheet} sheet */
export function noteTurn({ state, say, actions: { edits }, close, kept }) {
  const [id] = kept.about;
  const known = state.bodies.get(id)?.note ?? "";
  const submit = (/** @type {Event} */ event) => {
    const note = fieldOf(event, "note");
    carriedOut(event, close, async () => {
      const done = note === known.trim() || (await edits.note(id, note));
      if (done) begun.delete(id);
      return done;
    });
  };
  return html`${bar(say("cmd_note_turn"), say, close)}
    <form class="fields" @submit=${submit}>
      <label>${say("note_hint")}<textarea name="note" rows="5" .value=${begun.get(id) ?? known} @input=${(/** @type {Event} */ event) => begun.set(id, valueOf(event))}></textarea></label>
      <button type="submit" class="primary">${say("save")}</button>
    </form>`;
}

/** @param {Sheet} sheet */
export function nestBranch({ say, actions: { edits }, close, kept }) {
  const submit = (/** @type {Event} */ event) => {
    const name = fieldOf(event, "name");
    if (name) carriedOut(event, close, () => edits.nestBranch(kept.about[0], name));
  };
  const field = { label: say("flow_name"), about: say("ask_nest") };
  return named(say("cmd_nest_branch"), say, close, submit, field);
}

// Which turn shall follow from the chosen one as well: one that would make a circle, or does so already, is not offered.
/** @param {Sheet} sheet */
export function linkTurn(sheet) {
  const { state, say, actions, close, kept } = sheet;
  const [from] = kept.about;
  const shape = actions.selectors.topology(state);
  const following = new Set(shape.children[shape.index.get(from) ?? -1]?.map((place) => shape.ids[place]));
  const fits = (/** @type {string} */ id) => id !== from && !following.has(id) && !wouldCircle(shape, from, id);
  const take = (/** @type {string} */ id) => {
    close();
    actions.edits.connect(from, id);
  };
  return html`${bar(say("cmd_link"), say, close)}
    <p class="hint">${say("link_about", { title: state.briefs.get(from)?.title || say("untitled") })}</p>
    ${picker(sheet, say("cmd_link"), say("link_hint"), turnChoices(sheet, take, fits))}`;
}

// Which turn the next prompt shall continue beside the chosen one.
/** @param {Sheet} sheet */
export function mergeTurn(sheet) {
  const { state, say, actions, close, kept } = sheet;
  const [from] = kept.about;
  const take = (/** @type {string} */ id) => {
    close();
    actions.choosing.goTo([from, ...state.merging, id]);
    actions.write();
  };
  const fits = (/** @type {string} */ id) => id !== from && !state.merging.includes(id);
  return html`${bar(say("cmd_merge"), say, close)}
    <p class="hint">${say("merge_about", { title: state.briefs.get(from)?.title || say("untitled") })}</p>
    ${picker(sheet, say("cmd_merge"), say("merge_with"), turnChoices(sheet, take, fits))}`;
}

// Which flow the chosen turn opens: one that is there already.
/** @param {Sheet} sheet */
export function linkFlow(sheet) {
  const { state, say, actions, close, kept } = sheet;
  const [id] = kept.about;
  const now = state.flow.opens?.[id] ?? "";
  const take = (/** @type {string} */ to) => () => {
    close();
    actions.edits.linkFlow(id, to);
  };
  const others = state.flows.filter((flow) => flow.id !== state.flow.id && flow.id !== now);
  const none = {
    id: "flow-none",
    sign: /** @type {const} */ ("x"),
    label: say("link_no_flow"),
    kind: "",
    act: take(""),
  };
  const rows = others
    .filter(({ name }) => name.toLowerCase().includes(wanted(kept.text)))
    .map((flow) => ({
      id: `flow-${flow.id}`,
      sign: /** @type {const} */ ("workflow"),
      label: flow.name,
      kind: say("flow"),
      act: take(flow.id),
    }));
  return html`${bar(say("cmd_link_flow"), say, close)}
    ${picker(sheet, say("cmd_link_flow"), say("link_flow_hint"), now ? [none, ...rows] : rows)}`;
}

/** @param {Sheet} sheet */
export function renameTag({ state, say, actions: { edits }, close }) {
  const tags = Object.entries(state.choices?.tags ?? {});
  const submit = (/** @type {Event} */ event) => {
    const [tag, name] = [fieldOf(event, "tag"), fieldOf(event, "name")];
    carriedOut(event, close, async () => tag === name || edits.renameTag(tag, name));
  };
  return html`${bar(say("cmd_rename_tag"), say, close)}
    <form class="fields" @submit=${submit}>
      <label>${say("tag")}<select name="tag">${tags.map(([tag, count]) => html`<option value=${tag}>${tag} (${count})</option>`)}</select></label>
      <label>${say("tag_name")}<input name="name" type="text" autocomplete="off" list="known-tags"></label>
      <datalist id="known-tags">${tags.map(([tag]) => html`<option value=${tag}></option>`)}</datalist>
      <button type="submit" class="primary" ?disabled=${!tags.length}>${say("save")}</button>
    </form>`;
}

/** @param {Sheet} sheet */
export function turnsOutside({ state, say, actions: { edits }, close, redraw }) {
  const { nodes = [], total = 0 } = state.outside ?? {};
  const take = async (/** @type {string} */ id) => {
    if (!(await edits.addToFlow(id))) return;
    await edits.showOutside();
    redraw();
  };
  const line = (/** @type {import("../state/state.js").Brief} */ { id, title = "", timestamp = "", opening = "" }) =>
    html`<li><div><b>${title || say("untitled")}</b> <time>${timeOf(timestamp, state.view.lang)}</time><p>${opening}</p></div>${iconButton("plus", say("add_here"), () => take(id))}</li>`;
  return html`${bar(say("cmd_outside"), say, close)}
    <p>${say(total ? "outside_count" : "outside_none", { count: total })}</p>
    <ul class="outside">${nodes.map(line)}</ul>`;
}
