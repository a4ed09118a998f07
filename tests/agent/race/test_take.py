"""Taking parts of several tries: one set, whole or not at all, in which every line keeps its author."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from failing_disk import Dying, Failing
from nebula.agent.race.take import TakenSet, Wanted, take, take_tries
from nebula.config import load_settings
from nebula.files.digest import digest
from nebula.files.syscalls import REAL, Syscalls
from nebula.graph.values import FileState
from nebula.tools.approval import allow_all
from nebula.tools.contract import CancelledLate
from nebula.workspace import open_workspace
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.local import LocalWorkspace

OLD = {"a.py": b"old\n", "gone.py": b"gone\n", "kept.py": b"kept\n"}
FIRST = {"a.py": b"first\n", "sub/new.py": b"first\n"}
SECOND = {"b/x.py": b"second\n", "gone.py": None}
NEW = {"a.py": b"first\n", "sub/new.py": b"first\n", "b/x.py": b"second\n", "kept.py": b"kept\n"}


def make(root: Path) -> tuple[Wanted, Wanted]:
    """Make a project, and two tries whose contents its journal keeps; return what is wanted of each."""
    for path, content in OLD.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    with open_workspace(str(root)) as workspace:
        return keep(workspace, "try-1", FIRST), keep(workspace, "try-2", SECOND)


def keep(workspace: LocalWorkspace, node_id: str, files: dict[str, bytes] | dict[str, bytes | None]) -> Wanted:
    states = []
    for path, content in files.items():
        before = workspace.state(path) or ""
        if path in OLD:
            workspace.keep_content(OLD[path])
        if content is not None:
            workspace.keep_content(content)
        states.append(FileState(path, before, f"{digest(content)}:644" if content is not None else ""))
    return Wanted(node_id, tuple(states))


def take_both(root: Path, wanted: tuple[Wanted, Wanted], calls: Syscalls = REAL) -> TakenSet:
    with open_workspace(str(root), calls=calls) as workspace:
        return asyncio.run(take(wanted, workspace, allow_all))


def read(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if ".nebula" not in path.parts and path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def test_each_path_has_its_author_and_one_undo_takes_all_back(tmp_path: Path) -> None:
    wanted = make(tmp_path)
    done = take_both(tmp_path, wanted)
    assert done.is_whole and read(tmp_path) == NEW
    with open_workspace(str(tmp_path)) as workspace:
        history = workspace.history
        for node_id, files in (("try-1", FIRST), ("try-2", SECOND)):
            assert {change.path for change in history.changes(node_id)} == set(files)
        assert len({change.group for change in history.changes()}) == 1
        plan = history.plan_undo()
        assert set(plan.turns) == {"try-1", "try-2"}
        history.apply(plan)
        assert read(tmp_path) == OLD and not (tmp_path / "b").exists()
        history.apply(history.plan_redo())
        assert read(tmp_path) == NEW


def test_what_comes_from_one_try_is_that_one_as_a_whole(tmp_path: Path) -> None:
    first, second = make(tmp_path)
    gone = Wanted("try-2", second.files, ("gone.py",))
    (tmp_path / "gone.py").unlink()  # the project has that part already
    assert take_both(tmp_path, (first, gone)).is_whole
    with open_workspace(str(tmp_path)) as workspace:
        assert {change.group for change in workspace.history.changes()} == {"try-1"}


def test_a_disk_that_fails_leaves_nothing_of_it(tmp_path: Path) -> None:
    for calls in range(300):
        root = tmp_path / str(calls)
        root.mkdir()
        wanted = make(root)
        failing = Failing(calls)
        try:
            take_both(root, wanted, failing)
        except WorkspaceError as error:
            assert error.status >= 500, calls
            assert read(root) == OLD, calls
            assert not (root / "b").exists() and not (root / "sub").exists(), calls
            with open_workspace(str(root)) as workspace:
                assert workspace.history.changes() == [], calls
        else:
            assert failing.left >= 0
            break
        assert take_both(root, wanted).is_whole, calls
        assert read(root) == NEW, calls
    assert calls > 15


async def test_one_that_is_told_to_end_while_it_is_applied_is_applied_and_recorded(tmp_path: Path) -> None:
    wanted = make(tmp_path)
    settings = load_settings(str(tmp_path), {"NEBULA_HOME": str(tmp_path.parent / "home")})

    class Told(Syscalls):
        def __getattribute__(self, name: str) -> Any:
            if name == "create":
                loop.call_soon_threadsafe(taking.cancel)
            return super().__getattribute__(name)

    loop = asyncio.get_running_loop()
    with open_workspace(str(tmp_path), calls=Told()) as workspace:
        taking = asyncio.ensure_future(take_tries(wanted, workspace, allow_all, settings))
        with pytest.raises(CancelledLate) as late:
            await taking
        assert late.value.outcome.is_whole
        assert read(tmp_path) == NEW
        assert {json.loads(line)["path"] for line in (tmp_path / ".nebula/audit.jsonl").read_text().splitlines()} == {
            *FIRST,
            *SECOND,
        }


@pytest.mark.slow
def test_one_that_was_killed_is_taken_back_and_taken_again(tmp_path: Path) -> None:
    halves = 0
    for calls in range(0, 300, 2):
        root = tmp_path / str(calls)
        root.mkdir()
        wanted = make(root)
        pid = os.fork()
        if pid == 0:
            take_both(root, wanted, Dying(calls))
            os._exit(0)
        killed = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
        again = take_both(root, wanted)
        assert read(root) == NEW, calls
        assert again.is_whole, calls
        halves += bool(again.remarks)
        with open_workspace(str(root)) as workspace:
            history = workspace.history
            assert {each.path for each in history.changes("try-2") if each.kind == "write"} == set(SECOND), calls
            history.apply(history.plan_undo())
        assert read(root) == OLD, calls
        if not killed:
            break
    assert halves > 5
    assert not killed
