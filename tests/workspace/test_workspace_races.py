"""Links that appear between a check and its use: swapped as fast as the machine can, against readers and writers."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nebula.files.beneath import OpenBeneath
from nebula.workspace import LocalWorkspace, WorkspaceError

Open = Callable[..., LocalWorkspace]

SECONDS = 2.0
ENOUGH = 20
"""Times that a reader met the right file, and that it was refused: on a slow machine they take longer."""
SECRET = "outside"


def swap(left: str, right: str) -> None:
    """Exchange two names in one step (renameat2 with RENAME_EXCHANGE)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(316, -100, left.encode(), -100, right.encode(), 2) != 0:
        pytest.skip("this system cannot exchange names")


@pytest.fixture
def arena(root: Path) -> Path:
    """`p/d/f.txt` inside, and beside each part a link that leads out, to be exchanged with it."""
    outside = root.parent / "outside"
    (outside / "d").mkdir(parents=True)
    (outside / "d/f.txt").write_text(SECRET)
    (outside / "f.txt").write_text(SECRET)
    (root / "p/d").mkdir(parents=True)
    (root / "p/d/f.txt").write_text("inside")
    (root / "p/d/f.link").symlink_to(outside / "f.txt")
    (root / "p/d.link").symlink_to(outside / "d")
    (root / "p.link").symlink_to("../outside")
    return root


@pytest.mark.slow
@pytest.mark.skipif(os.uname().machine != "x86_64" or os.uname().sysname != "Linux", reason="needs renameat2")
@pytest.mark.parametrize(
    "pair", [("p/d/f.txt", "p/d/f.link"), ("p/d", "p/d.link"), ("p", "p.link")], ids=["file", "parent", "grandparent"]
)
def test_swapped_links_win_nothing(pair: tuple[str, str], arena: Path, open_at: Open, opener: OpenBeneath) -> None:
    workspace = open_at(opener=opener)
    workspace.write_file("warm.txt", "x")
    left, right = (str(arena / name) for name in pair)
    stop = threading.Event()
    wins: list[str] = []
    counts = {"read": 0, "refused": 0, "written": 0}

    def flip() -> None:
        while not stop.is_set():
            swap(left, right)

    def read() -> None:
        while not stop.is_set():
            try:
                text = workspace.read_file("p/d/f.txt").content
            except WorkspaceError:
                counts["refused"] += 1
            else:
                counts["read"] += 1
                if SECRET in text:
                    wins.append(text)

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            for path, mode in (("p/d/f.txt", "overwrite"), (f"p/d/new{number}.txt", "create"), ("p/d/f.txt", "append")):
                try:
                    workspace.write_file(path, "inside", mode)  # type: ignore[arg-type]
                    counts["written"] += 1
                except WorkspaceError:
                    counts["refused"] += 1

    def look() -> None:
        while not stop.is_set():
            try:
                found = workspace.search("p", SECRET).files + workspace.search(".", SECRET).files
            except WorkspaceError:
                continue
            wins.extend(found)

    threads = [threading.Thread(target=work) for work in (flip, read, read, write, write, look)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or min(counts["read"], counts["refused"]) <= ENOUGH:
        time.sleep(0.05)
    stop.set()
    for thread in threads:
        thread.join()

    outside = arena.parent / "outside"
    assert wins == []
    assert sorted(path.relative_to(outside).as_posix() for path in outside.rglob("*")) == ["d", "d/f.txt", "f.txt"]
    assert {path.read_text() for path in outside.rglob("*.txt")} == {SECRET}
