"""The examples in docs/guides/blame.md and blame.ja.md are what the command really prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blamed_project import turn, write
from conftest import Bench
from in_process import run_here

DOCS = Path(__file__).parents[2] / "docs" / "guides"
EXAMPLES = {"en": ("blame.md", "greet by name"), "ja": ("blame.ja.md", "名前で挨拶する")}


@pytest.mark.parametrize("lang", EXAMPLES)
def test_the_example_is_real(bench: Bench, lang: str) -> None:
    document, prompt = EXAMPLES[lang]
    turn(bench, prompt, write("greeting.py", "def greet(name):", '    return f"Hello {name}"'))
    bench.write("greeting.py", bench.read("greeting.py") + 'print(greet("Nebula"))\n')
    printed = run_here(bench, "nebula", "blame", "greeting.py", NEBULA_LANG=lang).out
    shown = (DOCS / document).read_text("utf-8").partition("$ nebula blame greeting.py\n")[2].partition("\n\n")[0]
    assert _words(shown) == _words(printed)


def _words(text: str) -> list[list[str]]:
    """Return the words of each line, but for ids and days."""
    return [
        ["-" if re.fullmatch(r"[0-9a-f-]{4,36}|\d{4}-\d\d-\d\d", word) else word for word in line.split()]
        for line in text.splitlines()
    ]
