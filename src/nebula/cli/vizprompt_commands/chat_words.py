"""What `vizprompt chat` itself says, in English and Japanese."""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "/q": "leave",
        "/clear": "begin a new session",
        "/flow list": "list the flows",
        "/flow show <id>": "draw a flow and show its nodes",
        "/flow select <id>": "go on at the end of a flow",
        "/prev": "show the previous node",
        "/retry": "ask the previous prompt again, as a branch beside it",
        "/?": "this list",
    },
    "ja": {
        "/q": "セッションを終了します",
        "/clear": "セッションをクリアします",
        "/flow list": "フロー一覧を表示します",
        "/flow show <id>": "フローの詳細またはログを表示します",
        "/flow select <id>": "フローを選択します",
        "/prev": "前のノードを表示します",
        "/retry": "前のノードを再実行します",
        "/?": "このヘルプを表示します",
    },
}
SENTENCES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "hint": "{model} · /? lists the commands, /q leaves",
        "commands": "Commands:",
        "cleared": "The next prompt begins a new session.",
        "selected": "Going on in the flow {name} ({id}).",
        "no_previous": "There is no previous node.",
        "retrying": "Asking again: {prompt}",
        "unknown": "There is no command {word}; it was not sent to the model. /? lists the commands.",
        "usage": "Write it as: {form}",
        "saved": "Saved as node {id}",
        "details": "The model asked for the details of {ids}.",
        "again": "({reason}; trying again)",
        "interrupted": "Interrupted; nothing was saved of this exchange.",
        "left_out": "{count} earlier nodes did not fit and were left out.",
    },
    "ja": {
        "hint": "{model} · /? でコマンド一覧、/q で終了",
        "commands": "コマンド一覧:",
        "cleared": "セッションをクリアしました。",
        "selected": "フローを選択しました: {name} ({id})",
        "no_previous": "前のノードはありません。",
        "retrying": "ノードを再実行します: {prompt}",
        "unknown": "{word} は不明なコマンドです。モデルには送っていません。/? で一覧を表示します。",
        "usage": "引数が違います: {form}",
        "saved": "チャット履歴をノードとして保存しました: {id}",
        "details": "モデルが {ids} の詳細を求めました。",
        "again": "（{reason} 再試行します）",
        "interrupted": "中断しました。このやり取りは保存していません。",
        "left_out": "{count} 個の以前のノードは収まらず、省略しました。",
    },
}


class Words:
    def __init__(self, lang: str) -> None:
        self.commands = COMMANDS.get(lang, COMMANDS["en"])
        self._sentences = SENTENCES.get(lang, SENTENCES["en"])

    def __call__(self, key: str, /, **values: object) -> str:
        return self._sentences[key].format(**values)
