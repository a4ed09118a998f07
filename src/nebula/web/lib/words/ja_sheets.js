/** @type {Record<string, string>} */
export const JA_SHEETS = {
  pick_winner: "これに決める",
  pick_winner_hint: "ファイルをこのターンの時点に戻し、ここから会話を続けます。",
  only_here: "こちらだけ",
  said_alike: "どちらも同じ内容です。",
  side_one: "一つ目",
  side_other: "二つ目",
  lane_pick: "ほかと比べる",
  lane_picked: "もう一つを選んでください",
  lane_did: "試行 {number} がしたこと",
  slash_list: "コマンド",
  owner_user: "自分",
  owner_project: "プロジェクト",
  owner_server: "MCP サーバー",
  lines_live: "{written} 行中 {alive} 行が残存",
};
