"""socket.md in docs/reference, in both languages, says what the WebSocket knows: every action with its data, every event, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nebula.graph import events
from nebula.server.conversation.actions.table import ACTIONS

FOLDER = Path(__file__).parents[3] / "docs" / "reference"
PAGES = {"socket.md": ("action", "event"), "socket.ja.md": ("アクション", "イベント")}
TEXTS = {name: (FOLDER / name).read_text(encoding="utf-8") for name in PAGES}
BEFORE_THE_ACTION = {"token"}
"""Read by the gate, not by the action."""


def rows(page: str, head: str) -> dict[str, str]:
    """Return the second column of the tables under this head of a page, by each name in the first."""
    found: dict[str, str] = {}
    for table in re.findall(rf"\| {head} \|.*?\n\|[-|]+\n((?:\|.*\n)+)", TEXTS[page]):
        for line in table.splitlines():
            names, data, *_ = line.strip("|").split("|")
            found |= dict.fromkeys(re.findall(r"`(\w+)`", names), data)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_action_is_there_and_none_that_is_not(page: str) -> None:
    assert set(rows(page, PAGES[page][0])) == set(ACTIONS)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_every_key_of_its_data_is_named(page: str, name: str) -> None:
    named = set(re.findall(r"`(\w+)`", rows(page, PAGES[page][0])[name])) - BEFORE_THE_ACTION
    missing = {key.name for key in ACTIONS[name].keys} - named
    assert missing == set()


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_those_that_take_long_are_marked(page: str, name: str) -> None:
    lines = TEXTS[page].splitlines()
    line = next(line for line in lines if re.match(rf"\|.*`{name}`.*?\|", line) and name in line.split("|")[1])
    assert (" * " in line.split("|")[1]) == ACTIONS[name].takes_long


@pytest.mark.parametrize("page", PAGES)
def test_every_event_of_the_graph_is_there(page: str) -> None:
    ours = {value for name, value in vars(events).items() if name.isupper() and isinstance(value, str)}
    assert set(rows(page, PAGES[page][1])) == ours
    told = ("resync_required", "steering_waits", "steering", "task", "final")
    assert all(f"`{name}`" in TEXTS[page] for name in told)
