"""A git that takes its time, so that a test can act while the context of a turn is built."""

from __future__ import annotations

import os
import time
from pathlib import Path

from conftest import Bench


def slow_git(bench: Bench, seconds: float = 3) -> tuple[str, Path]:
    """Return a PATH on which git takes long, and the file that it makes when it is asked."""
    folder, asked = bench.home / "slow", bench.home / "asked"
    folder.mkdir()
    git = folder / "git"
    git.write_text(f"#!/bin/sh\ntouch {asked}\nexec sleep {seconds}\n")
    git.chmod(0o755)
    (bench.project / ".git").mkdir()
    (bench.project / ".git/HEAD").write_text("ref: refs/heads/main\n")
    return f"{folder}:{os.environ['PATH']}", asked


def wait_for(path: Path) -> None:
    until = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < until, f"{path} was never made"
        time.sleep(0.01)
