"""Slash words of other agents, and what comes nearest here."""

from __future__ import annotations

from collections.abc import Mapping

_FILES = "/undo takes back files, /fork goes back in the conversation."
_CONFIG = "`nebula config` shows and changes the settings."
_RULES = "AGENTS.md is read with every turn: /init writes it, `# remember …` adds a line."
_EXPORT = "The conversation is text already: .nebula/log.txt."

ELSEWHERE: Mapping[str, str] = {
    "/rewind": _FILES,
    "/checkpoint": _FILES,
    "/config": _CONFIG,
    "/settings": _CONFIG,
    "/theme": _CONFIG,
    "/language": "Set NEBULA_LANG to en or ja.",
    "/memory": _RULES,
    "/skills": _RULES,
    "/hooks": "`checks` in the config run after changes.",
    "/status": "See the status line, /context and /cost.",
    "/doctor": "Run `nebula doctor` in a shell.",
    "/review": "Ask for it in plain words.",
    "/btw": "Ask, then /fork back.",
    "/export": _EXPORT,
    "/copy": _EXPORT,
    "/editor": "Press Ctrl+G.",
    "/vim": "Press Ctrl+G to write in $EDITOR.",
    "/add-dir": "Start nebula with --root DIR.",
    "/bug": "Look into .nebula/trace.jsonl.",
}
