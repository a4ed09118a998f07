"""Let the n-th call fail, for every n, and look at what is left: SQLite's method."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from file_history_rig import undo
from nebula.files.syscalls import Syscalls
from nebula.workspace import LocalWorkspace, open_workspace
from nebula.workspace.errors import DiskFull, StorageFailed

Litter = Callable[[], list[str]]
See = Callable[[], dict[str, bytes | None]]

OLD, NEW = b"old content\n", "new content\n"


class Failing(Syscalls):
    """The n-th call of one kind fails; a failing write leaves half of the data behind."""

    def __init__(self, kind: str, code: int) -> None:
        self.kind = kind
        self.code = code
        self.countdown = -1

    def _count(self, kind: str) -> bool:
        if kind == self.kind:
            self.countdown -= 1
        return kind == self.kind and self.countdown == 0

    def _fail(self) -> None:
        raise OSError(self.code, os.strerror(self.code))

    def write(self, fd: int, data: bytes) -> None:
        if self._count("write"):
            super().write(fd, data[: len(data) // 2])
            self._fail()
        super().write(fd, data)

    def create(self, name: str, dir_fd: int, perm: int) -> int:
        if self._count("create"):
            self._fail()
        return super().create(name, dir_fd, perm)

    def fsync(self, fd: int) -> None:
        if self._count("fsync"):
            self._fail()
        super().fsync(fd)

    def fsync_dir(self, fd: int) -> None:
        if self._count("fsync_dir"):
            self._fail()
        super().fsync_dir(fd)

    def fchmod(self, fd: int, perm: int) -> None:
        if self._count("fchmod"):
            self._fail()
        super().fchmod(fd, perm)

    def rename(self, name: str, dir_fd: int, new_name: str, new_dir_fd: int) -> None:
        if self._count("rename"):
            self._fail()
        super().rename(name, dir_fd, new_name, new_dir_fd)

    def exchange(self, name: str, dir_fd: int, other: str, other_dir_fd: int) -> None:
        if self._count("exchange"):
            self._fail()
        super().exchange(name, dir_fd, other, other_dir_fd)

    def link(self, name: str, dir_fd: int, new_name: str, new_dir_fd: int) -> None:
        if self._count("link"):
            self._fail()
        super().link(name, dir_fd, new_name, new_dir_fd)

    def unlink(self, name: str, dir_fd: int) -> None:
        if self._count("unlink"):
            self._fail()
        super().unlink(name, dir_fd)

    def mkdir(self, name: str, dir_fd: int, perm: int) -> None:
        if self._count("mkdir"):
            self._fail()
        super().mkdir(name, dir_fd, perm)


KINDS = ["write", "create", "fsync", "fsync_dir", "fchmod", "rename", "exchange", "link", "unlink", "mkdir"]


def write_overwrite(workspace: LocalWorkspace) -> object:
    return workspace.for_turn("turn").write_file("old.txt", NEW, "overwrite")


def write_append(workspace: LocalWorkspace) -> object:
    return workspace.for_turn("turn").write_file("old.txt", NEW, "append")


def write_create(workspace: LocalWorkspace) -> object:
    return workspace.for_turn("turn").write_file("deep/er/new.txt", NEW, "create")


def write_undo(workspace: LocalWorkspace) -> object:
    return undo(workspace.history, "earlier")


OUTCOMES: dict[str, tuple[Callable[[LocalWorkspace], object], list[dict[str, bytes | None]]]] = {
    "overwrite": (write_overwrite, [{"old.txt": OLD}, {"old.txt": NEW.encode()}]),
    "append": (write_append, [{"old.txt": OLD}, {"old.txt": OLD + NEW.encode()}]),
    "create": (
        write_create,
        [
            {"old.txt": OLD},
            {"old.txt": OLD, "deep": None, "deep/er": None, "deep/er/new.txt": NEW.encode()},
        ],
    ),
    "undo": (write_undo, [{"old.txt": OLD}, {"old.txt": b"older content\n"}]),
}


# A fresh project has nothing to undo.
CASES = [(operation, fresh) for operation in OUTCOMES for fresh in (False, True) if operation != "undo" or not fresh]


@pytest.mark.parametrize(
    ("operation", "fresh"), CASES, ids=lambda part: {True: "first write", False: "state there"}.get(part, part)
)
@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_leaves_old_or_new(
    kind: str, operation: str, fresh: bool, root: Path, see: See, litter: Litter
) -> None:
    call, (before, after) = OUTCOMES[operation]
    failed = 0
    for nth in range(1, 60):
        prepare(root, fresh)
        calls = Failing(kind, errno.EIO)
        with open_workspace(str(root), calls=calls) as workspace:
            if not fresh:
                assert workspace.history  # the state directory is there before the faults begin
            calls.countdown = nth
            try:
                call(workspace)
            except StorageFailed as error:
                failed += 1
                assert see() in (before, after), f"{kind} #{nth}"
                assert "disk failed" in str(error)
            else:
                assert see() == after
                if calls.countdown > 0:
                    break
        check_recovery(root, see, litter, after, call)
    else:
        pytest.fail("the operation never ran out of calls to fail")
    assert failed or kind in {"unlink", "fchmod", "link", "rename", "exchange", "mkdir", "create"}


def prepare(root: Path, fresh: bool) -> None:
    import shutil

    shutil.rmtree(root)
    root.mkdir()
    if fresh:
        (root / "old.txt").write_bytes(OLD)
        return
    with open_workspace(str(root)) as workspace:
        (root / "old.txt").write_text("older content\n")
        workspace.for_turn("earlier").write_file("old.txt", OLD.decode(), "overwrite")


def check_recovery(
    root: Path, see: See, litter: Litter, after: dict[str, bytes | None], call: Callable[[LocalWorkspace], object]
) -> None:
    """The next process sweeps, and can do the same thing, or undo what was done."""
    with open_workspace(str(root)) as workspace:
        if see() != after:
            assert workspace.history.changes("turn") == []  # told as failed, so not recorded as done
            call(workspace)
            assert see() == after
        elif call is not write_undo:
            undo(workspace.history, "turn")
            assert (root / "old.txt").read_bytes() == OLD
            assert not (root / "deep/er/new.txt").exists()
        workspace.check_write("x.txt", "create")
        assert litter() == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_is_told(code: int, root: Path, see: See) -> None:
    (root / "old.txt").write_bytes(OLD)
    calls = Failing("write", code)
    with open_workspace(str(root), calls=calls) as workspace:
        workspace.check_write("old.txt", "overwrite")
        calls.countdown = 1
        with pytest.raises(DiskFull, match="disk is full"):
            workspace.write_file("old.txt", NEW, "overwrite")
        assert see() == {"old.txt": OLD}
