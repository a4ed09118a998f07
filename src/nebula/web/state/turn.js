// A turn as the audience sees it. The server's stage decides what is shown (the cues); nothing is decided here.

export const NO_TURN = null;

export function begin(data, now) {
  return {
    traceId: data.trace_id,
    flowId: data.flow_id,
    prompt: data.prompt ?? "",
    parents: data.parents ?? [],
    said: [],
    remarks: [],
    curtain: false,
    curtainSince: now,
    ask: null,
    line: "",
    status: "",
    nodeId: null,
    stopping: false,
    seq: 0,
  };
}

// The turn after one more event. Events that were heard already (a replay) change nothing.
export function perform(turn, data, now) {
  if (data.seq <= turn.seq) return turn;
  let next = { ...turn, seq: data.seq };
  for (const cue of data.stage ?? []) next = follow(next, cue, now);
  if (data.type === "tool_result" && next.ask && data.tool_use_id === next.ask.tool_use_id) next = { ...next, ask: null };
  if (data.type === "final") next = { ...next, nodeId: data.node_id ?? null, curtain: false, ask: null };
  return next;
}

function follow(turn, cue, now) {
  switch (cue.cue) {
    case "say":
      return { ...turn, said: [...turn.said, { text: cue.show, act: cue.act }], curtain: false, ask: null };
    case "curtain":
      return turn.curtain ? turn : { ...turn, curtain: true, curtainSince: now, ask: null };
    case "remark":
      return { ...turn, remarks: [...turn.remarks, cue.text] };
    case "ask":
      return { ...turn, ask: cue, curtain: false };
    case "close":
      return { ...turn, status: cue.status, line: cue.line };
    default:
      return turn;
  }
}

export function isOver(turn) {
  return turn.status !== "";
}
