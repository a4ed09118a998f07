"""What the page on security promises is tested by tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"`((?:tests/[\w/]+/)?[Tt]est[\w…/]*)`")
DEFINED = re.compile(r"^ *(?:async )?(?:def|class) ([Tt]est\w*)", re.MULTILINE)


@pytest.fixture(scope="module")
def tests() -> set[str]:
    files = [path for path in (ROOT / "tests").rglob("*.py") if path.name != Path(__file__).name]
    return {path.stem for path in files} | {name for path in files for name in DEFINED.findall(path.read_text("utf-8"))}


@pytest.mark.parametrize("page", ["docs/security.md", "docs/security.ja.md"])
def test_every_test_that_it_names_is_there(page: str, tests: set[str]) -> None:
    named = set(NAME.findall((ROOT / page).read_text("utf-8")))
    assert len(named) > 50
    folders = {name for name in named if (ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file()}
    beginnings = {name for name in named if name.endswith("…") and any(each.startswith(name[:-1]) for each in tests)}
    assert named - folders - beginnings - tests == set()


def test_every_promise_names_one() -> None:
    text = (ROOT / "docs/security.md").read_text("utf-8")
    promises = text.split("|---|---|---|\n")[1].split("\n\n")[0].splitlines()
    without = [
        line.split("|")[1]
        for line in promises
        if "test" not in line.lower().split("|")[-2] and "same table" not in line
    ]
    assert len(promises) > 15 and without == []
