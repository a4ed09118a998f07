// The whole state of the page, and how it is at first: plain values, no page needed.

import { FRESH } from "../composer/composing.js";
import { NO_TURNS } from "./turns.js";

/** @import { Composing } from "../composer/composing.js" */
/** @import { Viewport } from "../graph/layout/viewport.js" */
/** @import { Flow } from "./topology.js" */
/** @import { Turns } from "./turns.js" */
/** @import { Race } from "./race.js" */

/**
 * @typedef {object} Brief A node in the short form of lists; `problem` where its file cannot be read.
 * @property {string} id
 * @property {string} [title]
 * @property {string} [summary]
 * @property {string} [opening] How the answer begins.
 * @property {string[]} [tags]
 * @property {string} [model]
 * @property {number} [files]
 * @property {string} [timestamp]
 * @property {boolean} [pinned]
 * @property {string} [note]
 * @property {number} [images]
 * @property {string} [problem]
 */
/** @typedef {{ id: string, prompt: string, response: string, tags: string[], summary?: string, files?: { path: string }[], texts?: { role: string, text: string }[], isOutdated?: boolean, [more: string]: any }} Body A whole turn, as `get_node` answers; `files` are those that it changed. */
/** @typedef {{ id: string, name: string, problem?: string, [more: string]: any }} FlowHead */

/**
 * @typedef {object} State
 * @property {string} status
 * @property {boolean} awaiting Whether an answer of the server takes longer than a moment.
 * @property {string} notice
 * @property {(Offer & { text: string }) | null} offer What can be taken back with one click, and what was said of it.
 * @property {string[]} modes
 * @property {FlowHead[]} flows
 * @property {string} flowId
 * @property {Flow & { id: string, name: string, problem?: string, base?: object }} flow `base` stays while it only grows.
 * @property {boolean} outdated
 * @property {ReadonlyMap<string, Brief>} briefs
 * @property {ReadonlyMap<string, Body>} bodies
 * @property {string | null} selected
 * @property {string[]} merging
 * @property {string | null} turn The turn at work, or just ended, that the reader has before them, by its trace id.
 * @property {boolean} placed Whether the reader has come to a place in this flow, if only to its beginning.
 * @property {{ prompt: string, parents: string[] } | null} sending A prompt that the server has not taken yet.
 * @property {boolean} joining Whether the next turn that is clicked joins those chosen.
 * @property {ReadonlySet<string>} folded
 * @property {{ text: string, filters: Filters, hits: string[] | null, total: number, unread: number }} search `unread`: so many turns are still to be read.
 * @property {{ tags: Record<string, number>, models: Record<string, number> } | null} choices What a search can be narrowed to.
 * @property {Turns} turns
 * @property {ReadonlySet<string>} sent Turns that this page asked for.
 * @property {ReadonlySet<string>} steered What this page said into turns at work, by id.
 * @property {{ traceId: string, prompt: string } | null} returned A prompt of this page that got no answer.
 * @property {{ done: number, total: number } | null} building
 * @property {Preview | null} preview
 * @property {Composing} composing
 * @property {{ root: string, editorUrl: string, model: string }} project Where the server is at home.
 * @property {Allowed[]} allowed What goes without asking in the conversation before the reader.
 * @property {SlashCommand[]} commands Those that can be typed after a slash.
 * @property {string[]} models Those that can be chosen, as `provider/name`.
 * @property {string} current The one among them that answers where none is chosen.
 * @property {{ nodeId: string, changed: FileDifference[], back: FileDifference[], plan: string, written: number, alive: number, named: string[] } | null} files `named`: protected files that come back all the same.
 * @property {{ nodeId: string, files: { path: string, written: number, alive: number }[] } | null} alive Of the turn that was asked about last.
 * @property {{ path: string, lines: string[], runs: LineRun[], total: number } | null} lines
 * @property {{ ids: string[], files: FileDifference[] } | null} compared
 * @property {{ text: string, paths: string[], nodes: Brief[] }} found What the server knows of what is typed into the palette.
 * @property {any} figures
 * @property {Record<string, any> | null} counted What the flow comes to.
 * @property {{ nodes: Brief[], total: number } | null} outside Turns that are in no flow.
 * @property {Race | null} race The one that goes on, or the last.
 * @property {{ prompt: string }} racing What a new one would try.
 * @property {Tried | null} tried Turns that are compared.
 * @property {View} view
 */
/** @typedef {{ name: string, about: string }} Allowed */
/** @typedef {{ name: string, about: string, usage: string, owner: string }} SlashCommand */
/** @typedef {{ action: string, data: Record<string, any> }} Step Something asked of the server. */
/** @typedef {{ steps: Step[], done: string }} Offer What takes a change back, and the word that is said then. */
/** @typedef {{ steps: Step[], done: string, undo?: Offer }} Edit */
/** @typedef {{ tag?: string, model?: string, since?: string, until?: string, path?: string, pinned?: boolean }} Filters */
/** @typedef {{ start_line: number, end_line: number, by: string, node_id?: string, prompt?: string, model?: string, at?: string, verified?: boolean, commit?: string, author?: string, tool?: string }} LineRun */
/** @typedef {{ path: string, added: number, removed: number, diff: string, conflict?: string, protected?: string }} FileDifference `protected`: why it comes back only where it is named. */
/** @typedef {{ numbers: number[], added: number, removed: number, note: string, diff: string }} TriedColumn */
/** @typedef {{ path: string, kind: "alike" | "only" | "differ", columns: TriedColumn[], rows: ([number, ...[string, string][]] | null)[], left_out: number }} TriedFile */
/** @typedef {{ ids: string[], tries: any[], files: TriedFile[] }} Tried */
/** @typedef {{ from: string[], parts: { node_id: string, form: string, tokens: number, text: string }[], total_tokens: number, frame_tokens: number, budget: number, left_out: string[], attached: { name: string, kind: string, tokens: number }[], cost: number | null, model: string }} Preview */
/**
 * @typedef {object} View How the reader has the page before them.
 * @property {boolean} seen Whether a first frame was seen: what is out of sight is drawn after it.
 * @property {string} tab The part in sight where there is room for one only.
 * @property {boolean} graph
 * @property {boolean} drawer
 * @property {"" | "help" | "palette" | "new_flow" | "rename_flow" | "build" | "files" | "lines" | "compare" | "figures" | "delete" | "delete_flow" | "link_flow" | "link_turn" | "merge_turn" | "move_branch" | "name_branch" | "nest_branch" | "note_turn" | "rename_tag" | "outside" | "count_flow" | "race" | "permissions"} dialog
 * @property {string} editing The turn whose words are fields.
 * @property {string[]} due Turns whose summaries the dialog asks about.
 * @property {string} lang
 * @property {string} theme
 * @property {string} mode
 * @property {boolean} filters Whether the filters of the search are open.
 * @property {boolean} notify Whether the browser tells of a question while the page is out of sight.
 * @property {Record<string, number>} panels Widths that the reader gave them, in pixels.
 * @property {boolean} folding Whether the graph folds runs of turns.
 * @property {ReadonlySet<string>} opened First turns of runs that are not folded.
 * @property {Viewport | null} viewport
 * @property {number} arranged How often the reader had the graph arranged anew.
 * @property {number} shape Width by height of the graph's panel, as it was arranged for.
 * @property {boolean} wide Whether the graph lies over the page, where there is no room beside it.
 * @property {boolean} archived Whether archived flows are in the list.
 * @property {"model" | "tag" | "none"} colourBy What the colours of the graph mean.
 */

/** @type {State} */
export const EMPTY = {
  status: "connecting",
  awaiting: false,
  notice: "",
  offer: null,
  modes: [],
  flows: [],
  flowId: "main",
  flow: { id: "", name: "main", nodes: [], connections: [] },
  outdated: false,
  briefs: new Map(),
  bodies: new Map(),
  selected: null,
  merging: [],
  turn: null,
  placed: false,
  sending: null,
  joining: false,
  folded: new Set(),
  search: { text: "", filters: {}, hits: null, total: 0, unread: 0 },
  choices: null,
  turns: NO_TURNS,
  sent: new Set(),
  steered: new Set(),
  returned: null,
  building: null,
  preview: null,
  composing: FRESH,
  project: { root: "", editorUrl: "", model: "" },
  allowed: [],
  commands: [],
  models: [],
  current: "",
  files: null,
  alive: null,
  lines: null,
  compared: null,
  found: { text: "", paths: [], nodes: [] },
  figures: null,
  counted: null,
  outside: null,
  race: null,
  racing: { prompt: "" },
  tried: null,
  view: {
    seen: false,
    filters: false,
    notify: false,
    panels: {},
    due: [],
    editing: "",
    tab: "talk",
    graph: true,
    drawer: false,
    dialog: "",
    lang: "en",
    theme: "auto",
    mode: "",
    folding: false,
    opened: new Set(),
    viewport: null,
    arranged: 0,
    shape: 0.7,
    wide: false,
    archived: false,
    colourBy: "model",
  },
};
