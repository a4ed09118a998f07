"""A git that takes its time, so that a test can act while the context of a turn is built."""

from __future__ import annotations

import os
import time
from pathlib import Path

from conftest import Bench

_HURRY = "hurry"


def slow_git(bench: Bench, seconds: float = 3) -> tuple[str, Path]:
    """Return a PATH on which git takes long until `hurry_git`, and the file that it makes when it is asked."""
    folder, asked = bench.home / "slow", bench.home / "asked"
    folder.mkdir()
    git = folder / "git"
    git.write_text(f"#!/bin/sh\necho asked >> {asked}\n[ -e {bench.home / _HURRY} ] || exec sleep {seconds}\n")
    git.chmod(0o755)
    (bench.project / ".git").mkdir()
    (bench.project / ".git/HEAD").write_text("ref: refs/heads/main\n")
    return f"{folder}:{os.environ['PATH']}", asked


def hurry_git(bench: Bench) -> None:
    """Let every git that is asked from now on answer at once."""
    (bench.home / _HURRY).touch()


def wait_for(path: Path) -> None:
    until = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < until, f"{path} was never made"
        time.sleep(0.01)
