"""A workspace cut down to folders: every call that names a path is judged, also one that joins the contract later."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from nebula.server.mcp.narrowed import NarrowedWorkspace
from nebula.workspace import open_workspace
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import PathEscape

ARGUMENTS: dict[str, Any] = {"first": 1, "last": 1, "content": "x", "mode": "create", "keyword": "x"}
CALLS = {
    name: list(inspect.signature(method).parameters.values())[1:]
    for name, method in inspect.getmembers(Workspace, inspect.isfunction)
    if not name.startswith("_") and {"path", "directory"} & set(inspect.signature(method).parameters)
}


def test_there_are_calls_to_judge() -> None:
    assert {"list_files", "read_file", "read_lines", "write_file", "search", "probe", "check_write"} <= CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
def test_what_is_outside_of_the_folders_is_refused(name: str, tmp_path: Path) -> None:
    for folder in ("offered", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text("x\n")
    with open_workspace(str(tmp_path)) as whole:
        files = NarrowedWorkspace(whole, str(tmp_path), (("offered",),)).for_turn("turn-1")
        required = {each.name for each in CALLS[name] if each.default is inspect.Parameter.empty}
        args = {each: value for each, value in ARGUMENTS.items() if each in required}
        place = "directory" if "directory" in {each.name for each in CALLS[name]} else "path"
        with pytest.raises(PathEscape):
            getattr(files, name)(**args, **{place: "other" if name in ("list_files", "search") else "other/a.txt"})
