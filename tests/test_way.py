"""The picture of a turn's way in CONTRIBUTING is the way that a turn takes, and the way stays short."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
LONGEST = 32
"""Functions; it was 58."""
DOOR = "cli.nebula:main"


def walked() -> list[str]:
    """Each function once, as `module:name`, in the order in which they come to write."""
    command = [sys.executable, str(ROOT / "scripts/way.py"), "--tree"]
    tree = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, None] = {}
    inside = False
    for indent, function in re.findall(r"^( +)(\S+:\S+)$", tree, re.MULTILINE):
        inside = function == DOOR or (inside and len(indent) > 2)  # a thread of the graph may tidy up meanwhile
        if inside:
            found[function] = None
    return list(found)


def pictured(page: str) -> list[tuple[int, str]]:
    rows = re.findall(r"^ +(\d+) (\S+) +[│├└ ]*(\S+)", page, re.MULTILINE)
    return [(int(number), f"{module.replace('/', '.')}:{function}") for number, module, function in rows]


def test_the_way_of_a_turn_is_short_and_the_one_in_the_picture() -> None:
    way, page = walked(), (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert pictured(page) == list(enumerate(way, start=1))
    assert f"{len(way)} functions in {len({each.partition(':')[0] for each in way})} modules" in page
    assert len(way) <= LONGEST
