"""Imports stand at the top of a module, except where the start of a command would load what it may never need."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import nebula

SOURCE = Path(nebula.__file__).parent
ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
MOST_INSIDE_FUNCTIONS = 146
"""CONTRIBUTING names the figure, too: it goes down, not up."""
INDENTED = re.compile(r"^ +from nebula", re.MULTILINE)


def inside_functions(path: Path) -> Iterator[str]:
    """Yield every import of our own modules that is carried out when a function is called."""
    text = path.read_text("utf-8")
    if not INDENTED.search(text):
        return
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nebula"):
                    yield f"{path.relative_to(SOURCE)}:{node.lineno}"


def test_few_imports_stand_inside_functions() -> None:
    found = {each for path in sorted(SOURCE.rglob("*.py")) for each in inside_functions(path)}
    said = f"{len(found)} of at most {MOST_INSIDE_FUNCTIONS}; one belongs there only where the start needs it:\n"
    assert len(found) <= MOST_INSIDE_FUNCTIONS, said + "\n".join(sorted(found))


def test_the_figure_is_the_one_that_is_promised() -> None:
    assert f"at most {MOST_INSIDE_FUNCTIONS} of our own imports" in PAGE


def test_the_rooms_stand_in_the_order_in_which_they_may_import() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [re.findall(r"\w+", layer) for layer in contracts[0]["layers"]]
    listed = PAGE.partition("## The rooms")[2].partition("## ")[0]
    lines = re.findall(r"^    (\w+(?: \| \w+)*)", listed, re.MULTILINE)
    assert [line.split(" | ") for line in lines] == layers, (
        "the contract of pyproject.toml and the list in CONTRIBUTING.md"
    )
