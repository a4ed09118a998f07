"""The documents name every command, setting and event that there is, so that nobody has to read the code for one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nebula.events
from nebula.cli import evercontext, vizprompt
from nebula.cli import nebula as umbrella
from nebula.config.settings import TABLE

HERE = Path(__file__).parents[1]
TEXT = "\n".join(
    path.read_text(encoding="utf-8") for path in (HERE / "README.md", *sorted((HERE / "docs").glob("*.md")))
)
PROGRAMS = {"nebula": umbrella.COMMANDS, "evercontext": evercontext.COMMANDS, "vizprompt": vizprompt.COMMANDS}
EVENTS = sorted(
    kind
    for name in nebula.events.__all__
    if isinstance(found := getattr(nebula.events, name), type) and isinstance(kind := getattr(found, "type", None), str)
)


@pytest.mark.parametrize("command", [f"{program} {name}" for program, names in PROGRAMS.items() for name in names])
def test_every_command_is_shown_as_it_is_typed(command: str) -> None:
    assert re.search(rf"\b{command}\b", TEXT)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_setting_is_named(name: str) -> None:
    said = (name, *TABLE[name].variables)
    assert any(re.search(rf"[`\"]{re.escape(each)}\b", TEXT) for each in said)


@pytest.mark.parametrize("kind", list(filter(None, EVENTS)))
def test_every_event_is_named(kind: str) -> None:
    assert f"`{kind}`" in TEXT
