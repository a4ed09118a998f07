"""A home that knows what this machine can do, as after a first start: that one makes a layer, to see whether it can, in a
process of its own, and costs as much as all the rest of a short command. What it finds out has tests in `tests/sandbox`."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from nebula.sandbox.capability import capability
from nebula.sandbox.remembered import recall, remember


def know_the_machine(home: Path) -> None:
    """Write down in nebula's own folder `home` what was found out for all tests, unless it says something already."""
    if recall(str(home)) is None:
        remember(str(home), *_what_the_machine_can_do())


@cache
def _what_the_machine_can_do() -> tuple[str, int]:
    with tempfile.TemporaryDirectory() as home:
        capability(home)
        found = recall(home)
    assert found is not None
    return found
