"""docs/socket.md says what the WebSocket knows: every action with its data, every event, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nebula.graph import events
from nebula.server.conversation.actions.table import ACTIONS

TEXT = (Path(__file__).parents[3] / "docs" / "socket.md").read_text(encoding="utf-8")
BEFORE_THE_ACTION = {"token"}
"""Read by the gate, not by the action."""


def rows(head: str) -> dict[str, str]:
    """Return the second column of the tables under this head, by each name in the first."""
    found: dict[str, str] = {}
    for table in re.findall(rf"\| {head} \|.*?\n\|[-|]+\n((?:\|.*\n)+)", TEXT):
        for line in table.splitlines():
            names, data, *_ = line.strip("|").split("|")
            found |= dict.fromkeys(re.findall(r"`(\w+)`", names), data)
    return found


def test_every_action_is_there_and_none_that_is_not() -> None:
    assert set(rows("action")) == set(ACTIONS)


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_every_key_of_its_data_is_named(name: str) -> None:
    named = set(re.findall(r"`(\w+)`", rows("action")[name])) - BEFORE_THE_ACTION
    missing = {key.name for key in ACTIONS[name].keys} - named
    assert missing == set()


@pytest.mark.parametrize("name", sorted(ACTIONS))
def test_those_that_take_long_are_marked(name: str) -> None:
    line = next(
        line for line in TEXT.splitlines() if re.match(rf"\|.*`{name}`.*?\|", line) and name in line.split("|")[1]
    )
    assert (" * " in line.split("|")[1]) == ACTIONS[name].takes_long


def test_every_event_of_the_graph_is_there() -> None:
    ours = {value for name, value in vars(events).items() if name.isupper() and isinstance(value, str)}
    assert set(rows("event")) == ours
    assert all(f"`{name}`" in TEXT for name in ("resync_required", "steering_waits", "steering", "task", "final"))
