"""What each command of the session is for, and where to find what other agents call by another name."""

from __future__ import annotations

from collections.abc import Mapping

ABOUT: Mapping[str, Mapping[str, str]] = {
    "en": {
        "help": "this list",
        "plan": "switch to plan mode: read only",
        "agent": "switch to agent mode: may write, with your approval",
        "mode": "show the modes and choose one",
        "model": "list the models and choose one; model NAME switches at once",
        "accept": "carry out the plan of the last turn",
        "undo": "take back the file changes of the last turn",
        "redo": "do again what was undone",
        "retry": "ask the last prompt again, as a branch beside it",
        "edit": "change the last prompt and ask it, as a branch beside it",
        "fork": "go on from an earlier turn; /fork NODE names it",
        "restore": "after /fork, put the files back as that turn left them",
        "graph": "draw the conversation as a graph",
        "tree": "draw the conversation with its prompts",
        "sessions": "list the sessions of this directory",
        "resume": "go on with another session",
        "diff": "show what the last turn changed; /diff NODE another one",
        "cost": "tokens and dollars of this session",
        "context": "what is sent with the next prompt, and what it costs",
        "tools": "what the model may call in this mode",
        "compact": "send all turns but the newest as summaries",
        "backstage": "show or hide the tools at work",
        "curtain": "what the live line shows: quiet or paths",
        "clear": "begin a new session",
        "exit": "leave",
    },
    "ja": {
        "help": "この一覧",
        "plan": "plan モードへ（読み取りのみ）",
        "agent": "agent モードへ（許可を得て書き込み）",
        "mode": "モードを一覧から選ぶ",
        "model": "モデルを一覧から選ぶ。model 名前 で直接切り替え",
        "accept": "直前のターンの計画を実行",
        "undo": "直前のターンのファイル変更を取り消す",
        "redo": "取り消した変更をやり直す",
        "retry": "直前のプロンプトを別の枝としてもう一度尋ねる",
        "edit": "直前のプロンプトを直して、別の枝として尋ねる",
        "fork": "以前のターンから続ける。/fork ノード で指定",
        "restore": "/fork の後、ファイルもその時点に戻す",
        "graph": "会話をグラフとして描く",
        "tree": "会話をプロンプト付きで描く",
        "sessions": "このディレクトリのセッション一覧",
        "resume": "別のセッションを続ける",
        "diff": "直前のターンの変更を表示。/diff ノード で指定",
        "cost": "このセッションのトークンと費用",
        "context": "次に送る内容とその費用",
        "tools": "このモードでモデルが呼べるツール",
        "compact": "最新以外のターンを要約で送る",
        "backstage": "ツールの動きを表示・非表示",
        "curtain": "作業中の表示: quiet または paths",
        "clear": "新しいセッションを始める",
        "exit": "終了",
    },
}

KEYS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "en": (
        ("Enter", "send; \\+Enter, Alt+Enter or Ctrl+J begin a new line"),
        ("Shift+Tab", "plan mode and back"),
        ("Tab", "complete commands, words and @files"),
        ("↑ ↓ Ctrl+R", "earlier prompts"),
        ("Ctrl+O", "backstage"),
        ("Ctrl+G", "write the prompt in $EDITOR"),
        ("Esc, Ctrl+C", "interrupt the running turn; Ctrl+C clears the line, twice leaves"),
        ("Ctrl+D", "leave, on an empty line"),
    ),
    "ja": (
        ("Enter", "送信。\\+Enter、Alt+Enter、Ctrl+J で改行"),
        ("Shift+Tab", "plan モードとの切り替え"),
        ("Tab", "コマンド、単語、@ファイル の補完"),
        ("↑ ↓ Ctrl+R", "以前のプロンプト"),
        ("Ctrl+O", "舞台裏"),
        ("Ctrl+G", "$EDITOR でプロンプトを書く"),
        ("Esc, Ctrl+C", "実行中のターンを中断。Ctrl+C は行を消し、2 回で終了"),
        ("Ctrl+D", "空の行で終了"),
    ),
}

_FILES = ("/undo takes back files, /fork goes back in the talk.", "/undo はファイルを、/fork は会話を戻します。")
_CONFIG = (
    "Edit ~/.nebula/config.json; `nebula doctor` shows it.",
    "~/.nebula/config.json を編集し、`nebula doctor` で確認できます。",
)
_RULES = (
    "Write AGENTS.md by hand; it is read with every turn.",
    "AGENTS.md を書いてください。毎ターン読み込まれます。",
)
_SERVER = (
    "`nebula mcp` offers our tools to others; it uses none itself.",
    "`nebula mcp` は nebula のツールを外部に提供します。",
)

ELSEWHERE: Mapping[str, tuple[str, str]] = {
    "/rewind": _FILES,
    "/checkpoint": _FILES,
    "/config": _CONFIG,
    "/settings": _CONFIG,
    "/theme": _CONFIG,
    "/language": ("Set NEBULA_LANG to en or ja.", "NEBULA_LANG を en か ja にしてください。"),
    "/init": _RULES,
    "/memory": _RULES,
    "/skills": _RULES,
    "/mcp": _SERVER,
    "/agents": _SERVER,
    "/hooks": ("`checks` in the config run after changes.", "設定の `checks` が変更後に実行されます。"),
    "/permissions": (
        "Each write is asked about; a allows all of them.",
        "書き込みごとに確認します。a で以後すべて許可。",
    ),
    "/status": ("See the status line, /context and /cost.", "ステータス行、/context、/cost をご覧ください。"),
    "/doctor": ("Run `nebula doctor` in a shell.", "シェルで `nebula doctor` を実行してください。"),
    "/review": ("Ask for it in plain words.", "普通の言葉で頼んでください。"),
    "/btw": ("Ask, then /fork back.", "尋ねてから /fork で戻れます。"),
    "/export": ("The conversation is text already: .nebula/log.txt.", "会話は .nebula/log.txt にあります。"),
    "/copy": ("The conversation is text already: .nebula/log.txt.", "会話は .nebula/log.txt にあります。"),
    "/editor": ("Press Ctrl+G.", "Ctrl+G を押してください。"),
    "/vim": ("Press Ctrl+G to write in $EDITOR.", "Ctrl+G で $EDITOR を使えます。"),
    "/add-dir": ("Start nebula with --root DIR.", "--root DIR を付けて起動してください。"),
    "/rename": ("Sessions go by their time: /sessions.", "セッションは時刻で識別します: /sessions"),
    "/bug": ("Look into .nebula/trace.jsonl.", ".nebula/trace.jsonl をご覧ください。"),
}
"""Slash words of other agents → what comes nearest here, in English and Japanese."""
