"""What the product imports is declared: a package that only comes along with another may leave with it."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"


def imported() -> dict[str, str]:
    """Top-level names of other people's packages, with a place that imports each."""
    found: dict[str, str] = {}
    of_python_or_ours = sys.stdlib_module_names | {"nebula", "vizprompt", "_sha2", "_sha256"}  # two of other versions
    for path in SOURCE.rglob("*.py"):
        source = path.read_text("utf-8")
        named = set(re.findall(r"^\s*(?:from|import) (\w+)", source, re.MULTILINE))
        if "sample" in path.parts or named <= of_python_or_ours:
            continue  # most files; parsing all of them takes a second
        for node in ast.walk(ast.parse(source)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                found.setdefault(name.partition(".")[0], f"{path.relative_to(ROOT)}:{node.lineno}")
    return {name: place for name, place in found.items() if name not in of_python_or_ours}


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    return {_plain(each) for each in wanted}


def top_level_names(requirement: str) -> set[str]:
    """Return what can be imported of this package; its own name where it is not installed."""
    try:
        record = importlib.metadata.distribution(requirement).read_text("RECORD") or ""
    except importlib.metadata.PackageNotFoundError:
        return {requirement.replace("-", "_")}
    return set(re.findall(r"^(\w+)", record, re.MULTILINE))


def _plain(requirement: str) -> str:
    name = requirement
    for mark in "<>=!~[; ":
        name = name.partition(mark)[0]
    return name.lower().replace("_", "-")


def test_everything_imported_is_declared() -> None:
    brought = {name for requirement in declared() for name in top_level_names(requirement)}
    assert {name: place for name, place in imported().items() if name not in brought} == {}


def test_what_scripts_mutate_names_is_there() -> None:
    """A test file that was renamed would stop the whole run."""
    mutmut = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mutmut"]
    named = [*mutmut["only_mutate"], *mutmut["pytest_add_cli_args_test_selection"]]
    assert [each for each in named if not list(ROOT.glob(each))] == []
