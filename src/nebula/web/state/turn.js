// A turn as the audience sees it. The server's stage decides what is shown (the cues); nothing is decided here.

/**
 * @typedef {object} Cue What the stage tells the page to do.
 * @property {string} cue
 * @property {string} [show]
 * @property {number} [act]
 * @property {string} [text]
 * @property {string} [title]
 * @property {string} [status]
 * @property {string} [line]
 * @property {string} [approval_id]
 * @property {string} [tool_use_id]
 * @property {string} [path]
 * @property {string} [diff]
 * @property {string} [doing]
 * @property {string} [amount]
 * @property {string[]} [failed] Of the last one: a line for each command that failed.
 * @property {Change[]} [changes] What a command would do; the first one's path and diff stand above, too.
 * @property {string[]} [remarks]
 * @property {string} [network] The command that asks for the network.
 * @property {string} [folders] The folders that commands would read.
 * @property {string} [secrets] The secret files that commands would read.
 * @property {string} [fetch] The page that would be fetched.
 * @property {string} [call] What a tool of an MCP server would be called with.
 * @property {string} [tool]
 * @property {boolean} [read] Whether a secret file is to be read.
 * @property {boolean} [once] Whether a yes counts for this question alone.
 * @property {string} [command] The command that would change the files.
 * @property {Step[]} [items] Steps of the model's list: all of it where it is new, else those that changed.
 */

/**
 * @typedef {object} Change
 * @property {string} path
 * @property {string} kind
 * @property {string} [renamed_from]
 * @property {number} added
 * @property {number} removed
 * @property {string} diff
 */

/** @typedef {{ content: string, status: string }} Step Of the model's own list. */
/** @typedef {{ steering_id: string, text: string }} Waiting */
/**
 * @typedef {object} TurnEvent One event of a turn, as the server sends it.
 * @property {string} type
 * @property {string} [text]
 * @property {Waiting[]} [unheard] Of the last one: what was said too late.
 * @property {number} seq
 * @property {string} trace_id
 * @property {string} [flow_id]
 * @property {string} [prompt]
 * @property {string[]} [parents]
 * @property {string} [tool_use_id]
 * @property {string | null} [node_id]
 * @property {Cue[]} [stage]
 */

/**
 * @typedef {object} Turn
 * @property {string} traceId
 * @property {string} flowId
 * @property {string} prompt
 * @property {string[]} parents
 * @property {{ text: string, act: number }[]} said Act 0 is what the reader said meanwhile.
 * @property {Waiting[]} waiting What was said into it and not heard yet.
 * @property {string[]} remarks
 * @property {Step[]} steps
 * @property {boolean} curtain
 * @property {string} doing What goes on behind it in plain words, where there is more to say than that work does.
 * @property {string} amount How much of it there is by now.
 * @property {number} curtainSince
 * @property {Cue | null} ask
 * @property {string} line
 * @property {string} status Empty while it is under way.
 * @property {string | null} nodeId
 * @property {boolean} stopping
 * @property {{ title: string, text: string }[]} backstage What the tools did, for those who ask.
 * @property {number} seq
 */

export const LOST = "lost";
const MOST_BACKSTAGE = 500;

/**
 * @param {{ trace_id: string, flow_id?: string, prompt?: string, parents?: string[], waiting?: Waiting[] }} data
 * @param {number} now
 * @returns {Turn}
 */
export function begin(data, now) {
  return {
    traceId: data.trace_id,
    flowId: data.flow_id ?? "",
    prompt: data.prompt ?? "",
    parents: data.parents ?? [],
    said: [],
    waiting: data.waiting ?? [],
    remarks: [],
    steps: [],
    curtain: false,
    doing: "",
    amount: "",
    curtainSince: now,
    ask: null,
    line: "",
    status: "",
    nodeId: null,
    stopping: false,
    backstage: [],
    seq: 0,
  };
}

/**
 * The turn after one more event. Events that were heard already (a replay) change nothing.
 * @param {Turn} turn
 * @param {TurnEvent} data
 * @param {number} now
 */
export function perform(turn, data, now) {
  if (data.seq <= turn.seq && data.type !== "activity") return turn; // what goes on has no number of its own
  let next = { ...turn, seq: data.seq };
  if (data.type === "task") {
    const { prompt, parents, flow_id: flowId } = data;
    next = { ...next, prompt: prompt ?? turn.prompt, parents: parents ?? turn.parents, flowId: flowId ?? turn.flowId };
  }
  for (const cue of data.stage ?? []) next = follow(next, cue, now);
  if (data.type === "tool_result" && next.ask && data.tool_use_id === next.ask.tool_use_id)
    next = { ...next, ask: null };
  if (data.type === "steering")
    next = { ...next, said: [...next.said, { text: data.text ?? "", act: 0 }], waiting: [] };
  if (data.type === "final") next = { ...next, nodeId: data.node_id ?? null, curtain: false, ask: null };
  return next;
}

/** @param {Turn} turn @param {Cue} cue @param {number} now @returns {Turn} */
function follow(turn, cue, now) {
  switch (cue.cue) {
    case "say":
      return { ...turn, said: [...turn.said, { text: cue.show ?? "", act: cue.act ?? 2 }], curtain: false, ask: null };
    case "curtain":
      return lower(turn, cue.doing ?? "", cue.amount ?? "", now);
    case "remark":
      return { ...turn, remarks: [...turn.remarks, cue.text ?? ""] };
    case "checklist":
      return { ...turn, steps: withSteps(turn.steps, cue.items ?? []) };
    case "ask":
      return { ...turn, ask: cue, curtain: false };
    case "backstage":
      return {
        ...turn,
        backstage: [...turn.backstage, { title: cue.title ?? "", text: cue.text ?? "" }].slice(-MOST_BACKSTAGE),
      };
    case "close":
      return {
        ...turn,
        status: cue.status ?? "ok",
        line: cue.line ?? "",
        remarks: [...turn.remarks, ...(cue.failed ?? [])],
      };
    default:
      return turn;
  }
}

// Where every step is known already, those told are what became of them; else they are another list.
/** @param {Step[]} known @param {Step[]} told */
function withSteps(known, told) {
  const now = new Map(told.map((step) => [step.content, step]));
  const same = told.every((step) => known.some((each) => each.content === step.content));
  return same ? known.map((step) => now.get(step.content) ?? step) : told;
}

/**
 * The curtain is down. The clock runs from the beginning of what goes on, however much of it there is by now.
 * @param {Turn} turn
 * @param {string} doing
 * @param {string} amount
 * @param {number} now
 * @returns {Turn}
 */
function lower(turn, doing, amount, now) {
  if (turn.curtain && turn.doing === doing && turn.amount === amount) return turn;
  const since = turn.curtain && turn.doing === doing ? turn.curtainSince : now;
  return { ...turn, curtain: true, doing, amount, curtainSince: since, ask: null };
}

/**
 * A turn whose server went away: no event will end it.
 * @param {Turn} turn
 * @returns {Turn}
 */
export function lost(turn) {
  return { ...turn, status: LOST, curtain: false, ask: null };
}

/** @param {Turn} turn */
export function isOver(turn) {
  return turn.status !== "";
}

// What somebody stopped is no failure.
/** @param {Turn} turn */
export function hasFailed(turn) {
  return isOver(turn) && turn.status !== "ok" && turn.status !== "interrupted";
}
