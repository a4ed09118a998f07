"""A difference on the screen: added green, removed red, nothing in it obeyed by the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from nebula.cli.terminal.output.screen import Screen
from nebula.cli.terminal.output.width import display_width
from nebula.language import translate_count

MAX_LINES = 2_000


def fits_half(screen: Screen, diffs: Iterable[str]) -> bool:
    """Return whether these can be shown beside a question that is then still in sight."""
    rows, columns = 0, screen.columns
    for diff in diffs:
        for line in diff.rstrip("\n").split("\n"):
            rows += max(1, -(-display_width(line.expandtabs()) // columns))
            if rows > screen.rows // 2:
                return False
    return rows > 0


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
