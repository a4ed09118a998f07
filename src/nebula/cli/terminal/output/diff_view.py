"""A difference on the screen: added green, removed red, nothing in it obeyed by the terminal."""

from __future__ import annotations

from nebula.cli.terminal.output.screen import Screen
from nebula.language import translate_count

MAX_LINES = 2_000


def show_diff(screen: Screen, diff: str) -> None:
    lines = diff.rstrip("\n").split("\n")
    for line in lines[:MAX_LINES]:
        screen.verbatim(line, _style(line))
    if len(lines) > MAX_LINES:
        more = len(lines) - MAX_LINES
        screen.line(translate_count(more, "… {count} more line", "… {count} more lines"), "dim")


def _style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
