"""kill -9 at random moments: each file old or new, nothing acknowledged lost, no litter."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from file_history_rig import undo
from nebula.files.atomic import TEMPORARY_PREFIX
from nebula.workspace import LocalWorkspace

Open = Callable[..., LocalWorkspace]
Litter = Callable[[], list[str]]

KILLS = 100

WRITER = textwrap.dedent("""
    import os, sys
    from nebula.workspace import open_workspace
    workspace = open_workspace(sys.argv[1])
    start = int(sys.argv[2])
    for number in range(start, start + 100_000):
        turn = workspace.for_turn(f"turn-{number}")
        turn.write_file(f"d{number % 7}/new-{number}.txt", f"{number}\\n" * 2000)
        os.write(1, f"created {number}\\n".encode())
        turn.write_file("same.txt", f"{number}\\n" * 5000, "overwrite")
        os.write(1, f"overwritten {number}\\n".encode())
        turn.write_file("log.txt", f"{number}\\n", "append" if number % 500 else "overwrite")
        os.write(1, f"appended {number}\\n".encode())
""")


@pytest.mark.slow
def test_kills_at_random_moments(root: Path, open_at: Open, litter: Litter) -> None:
    dice = random.Random(1)
    acknowledged: dict[str, int] = {"created": -1, "overwritten": -1, "appended": -1}
    created: set[int] = set()
    number = 0
    for _ in range(KILLS):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(root), str(number)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        said = writer.stdout.readline()  # it has begun
        signal.sigtimedwait([], dice.random() * 0.06)
        os.kill(writer.pid, signal.SIGKILL)
        said += writer.stdout.read()
        writer.wait()
        writer.stdout.close()
        for line in said.decode().split("\n")[:-1]:
            what, which = line.split()
            acknowledged[what] = int(which)
            if what == "created":
                created.add(int(which))
        check_files(root, acknowledged, created)
        number = max(acknowledged.values()) + 2
    workspace = open_at()
    workspace.check_write("sweep.txt", "create")
    assert litter() == []
    assert not list(root.rglob(f"{TEMPORARY_PREFIX}*"))
    assert len(created) >= KILLS
    undo_the_last_turn(workspace, root)


def check_files(root: Path, acknowledged: dict[str, int], created: set[int]) -> None:
    """Whole lines of one number, and at least as new as what was acknowledged."""
    for path in root.glob("d*/*.txt"):
        which = int(path.stem.removeprefix("new-"))
        assert path.read_text() == f"{which}\n" * 2000
    assert all((root / f"d{which % 7}/new-{which}.txt").exists() for which in created)
    if (root / "same.txt").exists():
        lines = (root / "same.txt").read_text().split("\n")
        assert lines == [lines[0]] * 5000 + [""]
        assert int(lines[0]) >= acknowledged["overwritten"]
    if (root / "log.txt").exists():
        assert int((root / "log.txt").read_text().split()[-1]) >= acknowledged["appended"]


def undo_the_last_turn(workspace: LocalWorkspace, root: Path) -> None:
    """The journal survived too: what the last writer left half done can be taken back."""
    last = workspace.history.changes()[-1].group
    undo(workspace.history, last)
    which = last.removeprefix("turn-")
    assert not list(root.glob(f"d*/new-{which}.txt"))
