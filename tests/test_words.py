"""The first sentence of a function's docstring says what the function does: "Return …", "Raise …", "The file is …"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import nebula

SOURCE = Path(nebula.__file__).parent
ROOMS = sorted(path.name for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file())
NOUNS = {"A", "All", "An", "Each", "Every", "For", "The", "Without"}
"""A sentence that begins with one of these may have forgotten its verb: "The node as its file says now"."""
VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|cannot|may|must|will|would|does|do|comes|go|goes|gets|sees|begins|keeps|makes"
    r"|stands|lies|says|guards|waits|knows|leaves|becomes|depends|starts|follows|breaks|changed|names|returns|means)\b"
)
NAMED = re.compile(rf'^ +"""(?:{"|".join(NOUNS)})\b', re.MULTILINE)
CLAUSES = {"As", "Of", "That", "Those", "What", "Whatever", "Where", "Whether", "Which", "Who", "Whoever", "Whose"}
"""No sentence that begins with one of these has a verb of its own where it should be."""
SUBJECT = re.compile(r"\w+s (?:are|come|that|who|of)\b")
"""Several of something that do something, such as "Nodes come before the flows"."""
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


def files_of(room: str) -> list[Path]:
    place = SOURCE / room
    return [place] if place.suffix else sorted(place.rglob("*.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_no_docstring_begins_with_a_clause(room: str) -> None:
    paths = files_of(room)
    assert paths
    assert [each for path in paths for each in clauses_in(path)] == [], "begin with a verb, or with who does what"


@pytest.mark.parametrize("room", ROOMS)
def test_no_docstring_begins_with_a_noun_that_does_nothing(room: str) -> None:
    """A property is a thing and may be named as one; a function does something."""
    found = []
    for path in files_of(room):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if NAMED.search(text) else ():
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or "property" in map(
                name_of, node.decorator_list
            ):
                continue
            said = " ".join((ast.get_docstring(node) or "").split())
            first = re.split(r"[.;:](?:\s|$)", said, maxsplit=1)[0]
            if re.split(r"\W", said, maxsplit=1)[0] in NOUNS and not VERB.search(first):
                found.append(f"{path}:{node.lineno}: {said}")
    assert found == [], "begin with what the function does: Return …, Raise …, The file is …"


def test_docstrings_command_as_one() -> None:
    """What some begin with "Take", no other begins with "Takes"; a sign or a name at the start has its verb."""
    said = [each for path in SOURCE.rglob("*.py") for each in beginnings(path)]
    begins = {first_word(text) for _, text in said}
    found = []
    for where, text in said:
        word = first_word(text)
        plain = {word[:-1], word.removesuffix("es"), f"{word.removesuffix('ies')}y"} - {word}
        if (word.endswith("s") and not word.endswith("ss") and plain & begins and not SUBJECT.match(text)) or (
            not text[0].isalpha() and not VERB.search(re.split(r"[.;](?:\s|$)", text, maxsplit=1)[0])
        ):
            found.append(f"{where}: {text}")
    assert found == [], "begin with a command, as in: Take the lock"


def beginnings(path: Path) -> Iterator[tuple[str, str]]:
    """Yield where a function's docstring is and how it begins, read line by line: parsing all files takes a second."""
    lines = path.read_text("utf-8").splitlines()
    for number, (above, line) in enumerate(pairwise(lines), 2):
        if line.startswith(('    """', '        """')) and above.endswith(":") and "class " not in above:
            yield f"{path}:{number}", " ".join(" ".join(lines[number - 1 : number + 2]).split())[3:]


def first_word(text: str) -> str:
    return re.split(r"\W", text, maxsplit=1)[0]


def name_of(decorator: ast.expr) -> str:
    return ast.unparse(decorator).removeprefix("cached_").rpartition(".")[2]
