"""The page on the WebSocket, in both languages, explains every action with its data and every event of the graph."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nebula.graph import events
from nebula.server.conversation.actions.table import ACTIONS

REFERENCE = Path(__file__).parents[2] / "docs/reference"
PAGES = {"socket.md": ("action", "event"), "socket.ja.md": ("アクション", "イベント")}


def rows_of(page: str, head: str) -> dict[str, tuple[str, str]]:
    """Return the first two cells of each row of the tables under `head`, by each name in the first."""
    text = (REFERENCE / page).read_text("utf-8")
    tables = re.findall(rf"^\| {head} \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    rows = [line.strip("|").split("|")[:2] for table in tables for line in table.splitlines()]
    return {name: (first, second) for first, second in rows for name in re.findall(r"`(\w+)`", first)}


@pytest.mark.parametrize("page", PAGES)
def test_every_action_is_explained_with_its_data(page: str) -> None:
    rows = rows_of(page, PAGES[page][0])
    missing = sorted(ACTIONS.keys() - rows.keys())
    assert not missing, f"docs/reference/{page} has no row for {missing}: its keys, and what it answers"
    assert not rows.keys() - ACTIONS.keys(), "rows of actions that there are not"
    keys = {f"{name}: {key.name}" for name, action in ACTIONS.items() for key in action.keys}
    named = {f"{name}: {key}" for name, (_, data) in rows.items() for key in re.findall(r"`(\w+)`", data)}
    assert not keys - named, f"docs/reference/{page} does not name these keys in the rows of their actions"
    late = {name for name, (cell, _) in rows.items() if "*" in cell}
    assert late == {name for name, action in ACTIONS.items() if action.takes_long}, "`*` marks those that take long"


@pytest.mark.parametrize("page", PAGES)
def test_every_event_of_the_graph_is_explained(page: str) -> None:
    ours = {value for name, value in vars(events).items() if name.isupper() and isinstance(value, str)}
    assert rows_of(page, PAGES[page][1]).keys() == ours
    text = (REFERENCE / page).read_text("utf-8")
    told = ("resync_required", "steering_waits", "steering", "task", "final")
    assert all(f"`{name}`" in text for name in told)
