"""Calls that only Linux has stand in `files`, each beside what is done without it, and inside the layers of commands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import nebula

SOURCE = Path(nebula.__file__).parent
PROFILE = Path(__file__).parents[1] / "systems/macos/sitecustomize.py"
ROOMS = ("files/", "sandbox/inside/", "sandbox/launch.py", "sandbox/tries/places.py", "llm/local/child.py")
"""Layers are Linux alone; the child that serves a model has its fallback in place, and imports nothing of ours."""


def missing_on_macos() -> dict[str, set[str]]:
    """Return the names that the profile takes away, by module."""
    table = re.search(r"^MISSING = (\{.*?^\})", PROFILE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert table is not None
    found = ast.parse(table[1], mode="eval").body
    assert isinstance(found, ast.Dict)
    return {
        key.id: set(value.value.split())
        for key, value in zip(found.keys, found.values, strict=True)
        if isinstance(key, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str)
    }


def linux_only_calls(source: str, missing: dict[str, set[str]]) -> Iterator[str]:
    if "/proc/" not in source and not any(name in source for names in missing.values() for name in names):
        return  # most files; parsing all of them takes a second
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in missing.get(node.value.id, ()):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Constant) and str(node.value).startswith(("/proc/self/fd", "/proc/meminfo")):
            yield str(node.value)


def test_calls_of_linux_alone_stand_in_one_room() -> None:
    missing = missing_on_macos()
    assert missing["os"] >= {"fdatasync", "O_PATH"} and missing["fcntl"] >= {"F_SETLEASE"}
    assert list(linux_only_calls("import os\nos.fdatasync(3)", missing)) == ["os.fdatasync"]
    found = {
        path.relative_to(SOURCE).as_posix(): calls
        for path in SOURCE.rglob("*.py")
        if (calls := list(linux_only_calls(path.read_text(encoding="utf-8"), missing)))
    }
    assert {path: calls for path, calls in found.items() if not path.startswith(ROOMS)} == {}
    assert any(path.startswith("files/") for path in found)


def test_values_of_sql_have_no_numbers() -> None:
    """Python 3.14 refuses `?1` together with a sequence of values."""
    numbered = re.compile(r"\b(?:WHERE|VALUES|ORDER BY|SET|LIMIT)\b.*\?\d", re.DOTALL)
    assert numbered.search("SELECT 1 WHERE id = ?1")
    found = [
        path.name
        for path in SOURCE.rglob("*.py")
        if re.search(r"\?\d", text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and numbered.search(node.value)
    ]
    assert found == []
