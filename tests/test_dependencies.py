"""What the product imports is declared: a package that only comes along with another may leave with it."""

from __future__ import annotations

import ast
import importlib.metadata
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"


def imported() -> dict[str, str]:
    """Top-level names of other people's packages, with a place that imports each."""
    found: dict[str, str] = {}
    for path in SOURCE.rglob("*.py"):
        if "sample" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                found.setdefault(name.partition(".")[0], f"{path.relative_to(ROOT)}:{node.lineno}")
    ours = {"nebula", "vizprompt"}
    of_other_versions = {"_sha2", "_sha256"}  # of Python
    return {
        name: place for name, place in found.items() if name not in sys.stdlib_module_names | ours | of_other_versions
    }


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    return {_plain(each) for each in wanted}


def _plain(requirement: str) -> str:
    name = requirement
    for mark in "<>=!~[; ":
        name = name.partition(mark)[0]
    return name.lower().replace("_", "-")


def test_everything_imported_is_declared() -> None:
    packages = importlib.metadata.packages_distributions()
    known = declared()
    missing = {
        name: place
        for name, place in imported().items()
        if not known & {_plain(distribution) for distribution in packages.get(name, [name])}
    }
    assert not missing


def test_what_scripts_mutate_names_is_there() -> None:
    """A test file that was renamed would stop the whole run."""
    mutmut = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mutmut"]
    named = [*mutmut["only_mutate"], *mutmut["pytest_add_cli_args_test_selection"]]
    assert [each for each in named if not list(ROOT.glob(each))] == []
