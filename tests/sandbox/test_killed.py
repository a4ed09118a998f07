"""Nothing is left behind when nebula, or the launcher, is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sandbox_rig
from nebula.sandbox.command import run
from nebula.sandbox.contract import Command, Limits
from nebula.sandbox.errors import SandboxError
from sandbox_rig import tree

KILL_OFTEN = Path(sandbox_rig.__file__).parent / "kill_often.py"
KILLS = 50


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("print(1)\n")
    return folder


@pytest.mark.slow
def test_killed_at_random_moments_nebula_leaves_nothing(project: Path, tmp_path: Path, disk: str | None) -> None:
    """Nor does its next start find anything but an empty folder, where layers lie on disk."""
    temporary, home = tmp_path / "tmp", tmp_path / "home"
    temporary.mkdir()
    home.mkdir()
    before, mounts = tree(project), Path("/proc/self/mountinfo").read_bytes()
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(temporary), "HOME": str(home)}
    words = [sys.executable, str(KILL_OFTEN), str(project), str(KILLS), "0.4", disk or ""]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=590, check=True)
    assert done.stdout == f"{KILLS}\n"
    assert tree(project) == before
    assert Path("/proc/self/mountinfo").read_bytes() == mounts
    assert list(temporary.iterdir()) == [] and list(home.iterdir()) == []
    if disk is not None:
        assert [path.name for path in Path(disk).rglob("*")][-1:] == ["layers"]


def test_the_launcher_killed_ends_the_command(project: Path, disk: str | None) -> None:
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    others = children.read_text("ascii").split()

    def kill_launcher(chunk: bytes) -> None:
        (launcher,) = {*children.read_text("ascii").split()}.difference(others)
        os.kill(int(launcher), signal.SIGKILL)

    with pytest.raises(SandboxError, match="The layer ended before the command"):
        run(Command(str(project), "echo go; sleep 1000", Limits(timeout_s=30), disk=disk), on_output=kill_launcher)


def test_a_thread_that_ends_does_not_take_the_layer_with_it(project: Path) -> None:
    results = []
    thread = threading.Thread(target=lambda: results.append(run(Command(str(project), "echo x > new"))))
    thread.start()
    thread.join()
    with results[0] as done:
        assert done.layer is not None and done.layer.read("new") == b"x\n"
