"""Folders in memory, for tests that write thousands of files and ask nothing of the disk: waiting for it is most of their time.

What is killed there, is killed as on a disk: what a process has written stays, in memory or on its way to the disk.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = "/dev/shm"
LEAST_FREE = 1 << 30


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Yield a new folder, on the disk where the machine has no room for it in memory, and remove it."""
    has_room = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > LEAST_FREE
    folder = tempfile.mkdtemp(prefix="nebula-test-", dir=MEMORY if has_room else None)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder)
