// What the sheets over the page say, and the parts of a turn that open them.
/** @type {Record<string, string>} */
export const EN_SHEETS = {
  pick_winner: "Pick this one",
  pick_winner_hint: "The files become as this one left them, and the conversation goes on from it.",
  only_here: "Only here",
  said_alike: "Both say the same.",
  side_one: "First",
  side_other: "Second",
  lane_pick: "Compare with another",
  lane_picked: "Now choose the other",
  lane_did: "What try {number} did",
  slash_list: "Commands",
  owner_user: "yours",
  owner_project: "of the project",
  owner_server: "MCP server",
  lines_live: "{alive} of {written} {written|line|lines} live",
  a_file: "File",
  recent_command: "Recent",
  group_conversation: "Conversation",
  group_graph: "Graph",
  group_outline: "Outline",
  group_page: "Page",
};
