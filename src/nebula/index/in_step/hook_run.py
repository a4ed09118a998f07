"""How a hook that somebody else manages puts a commit's staged change into the queue. It starts git once.

A commit waits for it, so this module imports next to nothing.
"""

from __future__ import annotations

import os
import time

from nebula.files.home import derived_folder
from nebula.files.system.full_sync import full_sync

QUEUE_NAME = "queue"

STAGED = "git -c core.fsmonitor=false diff --cached --raw -z -M --no-abbrev --no-ext-diff --ignore-submodules"


def hand_over(root: str) -> None:
    """Leave what is staged in the queue of the index. Raises OSError, which shall not fail a commit."""
    queue = os.path.join(derived_folder(root), QUEUE_NAME)
    os.makedirs(queue, mode=0o700, exist_ok=True)
    name = f"{time.time_ns()}-{os.getpid()}"
    unfinished = os.path.join(queue, f".new-{name}")
    os.chdir(root)
    entry = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        if _write_staged(entry):
            full_sync(entry)
            os.rename(unfinished, os.path.join(queue, name))
        else:
            os.unlink(unfinished)
    finally:
        os.close(entry)


def _write_staged(file: int) -> bool:
    nothing = os.open(os.devnull, os.O_RDWR)
    streams = [(os.POSIX_SPAWN_DUP2, nothing, 0), (os.POSIX_SPAWN_DUP2, file, 1), (os.POSIX_SPAWN_DUP2, nothing, 2)]
    git = os.posix_spawnp("git", [*STAGED.split(), "--relative"], os.environ, file_actions=streams)
    _, status = os.waitpid(git, 0)
    os.close(nothing)
    return status == 0
