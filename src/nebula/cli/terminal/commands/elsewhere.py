"""Slash words of other agents, and what comes nearest here."""

from __future__ import annotations

from collections.abc import Mapping

_NEAREST = {
    "/undo takes back files, /fork goes back in the conversation.": ("/rewind", "/checkpoint"),
    "`nebula config` shows and changes the settings.": ("/config", "/settings", "/theme", "/themes", "/statusline"),
    "`nebula config set effort high` asks for more thought.": ("/effort", "/reasoning", "/think"),
    "Set NEBULA_LANG to en or ja.": ("/language",),
    "AGENTS.md is read with every turn: /init writes it, `# remember …` adds a line.": ("/memory",),
    "`nebula skills` lists them; the model opens one where it fits.": ("/skills", "/plugin", "/extensions"),
    "`hooks` in your settings run at events of a turn, `checks` after changes.": ("/hooks",),
    "See the status line, /context and /cost.": ("/status", "/tokens"),
    "Run `nebula doctor` in a shell.": ("/doctor", "/ide"),
    "Keys stand in the environment; `nebula doctor` names them.": ("/login", "/logout", "/connect"),
    "Commands run in a layer always; `nebula doctor` says how.": ("/sandbox",),
    "Ask for it in plain words.": ("/review", "/security-review", "/pr-comments", "/web"),
    "Ask for it in plain words, or run `nebula commit` in a shell.": ("/commit",),
    "`!command` runs one, /checks names those that follow every change.": ("/run", "/test", "/lint", "/ls"),
    "The model hands parts of a task on by itself; /race tries one several times.": ("/agents", "/tasks", "/bashes"),
    "The list of the model is shown whenever it changes.": ("/todos", "/todo"),
    "Name files as @path in the prompt.": ("/add", "/drop", "/mention", "/read-only"),
    "Shift+Tab switches to plan mode, which only looks.": ("/ask", "/architect", "/chat"),
    "Ask, then /fork back.": ("/btw", "/side"),
    "`nebula export NODE` prints it as Markdown, HTML or JSON; /graph has the ids.": ("/export", "/copy", "/share"),
    "Press Ctrl+G.": ("/editor",),
    "Press Ctrl+G to write in $EDITOR.": ("/vim",),
    "Start nebula with --root DIR.": ("/add-dir", "/directory"),
    "Look into .nebula/trace.jsonl.": ("/bug", "/feedback"),
}

ELSEWHERE: Mapping[str, str] = {word: advice for advice, words in _NEAREST.items() for word in words}
