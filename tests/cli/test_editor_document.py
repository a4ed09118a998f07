"""What docs/guides/editors.md says in both languages is what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from nebula.cli.nebula_commands.servers.editor_commands import TERMINAL_ONLY
from nebula.cli.terminal.commands.table import TABLE, find

DOCS = Path(__file__).parents[2] / "docs" / "guides"
ENGLISH, JAPANESE = ((DOCS / name).read_text() for name in ("editors.md", "editors.ja.md"))
COMMAND = re.compile(r"`(/[a-z]+)")


@pytest.mark.parametrize("text", [ENGLISH, JAPANESE])
def test_the_commands_it_names_are_commands(text: str) -> None:
    named = set(COMMAND.findall(text))
    assert {"/undo", "/fork", "/restore", "/cost"} <= named
    assert all(find(each) is not None for each in named), named
    assert {each.name for each in TABLE} >= TERMINAL_ONLY


def test_both_languages_say_the_same() -> None:
    def snippets(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith("    ")]

    assert snippets(ENGLISH) == snippets(JAPANESE)
    assert set(COMMAND.findall(ENGLISH)) == set(COMMAND.findall(JAPANESE))
    assert re.findall("^#+", ENGLISH, re.MULTILINE) == re.findall("^#+", JAPANESE, re.MULTILINE)


def test_the_settings_are_json_that_starts_the_command() -> None:
    blocks = re.findall(r"(?:^    .*\n)+", ENGLISH, re.MULTILINE)
    settings = [json.loads(each) for each in blocks if each.lstrip().startswith("{")]
    assert len(settings) == 2
    for each in settings:
        (server,) = each["agent_servers"].values()
        assert server["command"].endswith("nebula") and server["args"] == ["acp"]
