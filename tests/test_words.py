"""The first sentence of a function's docstring says what the function does: "Return …", "Raise …", "The file is …"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import nebula

SOURCE = Path(nebula.__file__).parent
ROOMS = sorted(path.name for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file())
CLAUSES = {"As", "Of", "That", "Those", "What", "Whatever", "Where", "Whether", "Which", "Who", "Whoever", "Whose"}
"""No sentence that begins with one of these has a verb of its own where it should be."""
SUSPECT = re.compile(rf'"""\s*(?:{"|".join(CLAUSES)})\b')
"""Stands in few files; parsing all of them takes a second."""


def docstrings(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (said := ast.get_docstring(node)):
            yield node.lineno, said


def clauses_in(path: Path) -> list[str]:
    text = path.read_text("utf-8")
    found = docstrings(text) if SUSPECT.search(text) else ()
    return [f"{path}:{line}: {said}" for line, said in found if re.split(r"\W", said, maxsplit=1)[0] in CLAUSES]


@pytest.mark.parametrize("room", ROOMS)
def test_no_docstring_begins_with_a_clause(room: str) -> None:
    place = SOURCE / room
    paths = [place] if place.suffix else sorted(place.rglob("*.py"))
    assert paths and [each for path in paths for each in clauses_in(path)] == []
