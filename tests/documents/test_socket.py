"""The page on the WebSocket explains every action with every key of its data, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nebula.server.conversation.actions.table import ACTIONS

REFERENCE = Path(__file__).parents[2] / "docs/reference"
ROW = re.compile(r"^\| ([^|]*`[^|]*) \| (.*)$", re.MULTILINE)
TABLE = re.compile(r"^\| (?:action|アクション) \|.*\n\|[-|]+\n((?:\|.*\n)+)", re.MULTILINE)


def rows_of(page: str) -> dict[str, tuple[str, str]]:
    """Return by the name of an action the cell that names it and the rest of its row."""
    text = (REFERENCE / page).read_text("utf-8")
    rows = [row for table in TABLE.findall(text) for row in ROW.findall(table)]
    return {name: (cell, rest) for cell, rest in rows for name in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize("page", ["socket.md", "socket.ja.md"])
def test_every_action_is_explained_and_no_other(page: str) -> None:
    assert rows_of(page).keys() == ACTIONS.keys()


@pytest.mark.parametrize("page", ["socket.md", "socket.ja.md"])
@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_an_action_is_explained_with_its_data(page: str, name: str) -> None:
    cell, rest = rows_of(page)[name]
    data = rest.split(" | ")[0]
    assert [key.name for key in ACTIONS[name].keys if f"`{key.name}`" not in data] == []
    assert ("*" in cell) == ACTIONS[name].takes_long, "marked where others need not wait"
