"""Which node files changed since the last look, whoever changed them, by the times of folders and files."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.node_files import FOLDER
from nebula.graph.formats.node_xml import load_head

HEAD_BYTES: Final = 4096
TICK_NS: Final = 50_000_000
"""File times are at most this coarse."""
FULL_LOOK_EVERY_S: Final = 5.0
FULL_LOOK_SHARE: Final = 50
"""A full look, which also finds files edited in place, may take one part in this many of the time."""


class NodeWatch:
    """Goes by the change time: a copied file may carry any modification time, but its change time is when it came here.

    `reading` holds the lock while one folder is looked at, so that nobody who asks for a node waits for all folders."""

    def __init__(self, disk: DataFolder, reading: Callable[[], AbstractContextManager[None]]) -> None:
        self._disk = disk
        self._reading = reading
        self._folders: dict[str, int] | None = None
        self._seen: dict[str, int] = {}
        self._since = time.time_ns() - TICK_NS
        self._next_full = 0.0

    def look(self) -> list[str]:
        """Return ids of the nodes whose files are new or changed since the last call."""
        started = time.time_ns()
        with self._reading():
            folders = self._disk.folder_times(FOLDER)
        if self._folders is None:  # the first look comes when everybody waits for theirs
            self._folders = {name: moment for name, moment in folders.items() if moment <= self._since}
            self._next_full = time.monotonic() + FULL_LOOK_EVERY_S
        full = time.monotonic() >= self._next_full
        changed = [name for name, moment in folders.items() if full or self._folders.get(name) != moment]
        found = [path for name in changed for path in self._changed_files(name)]
        # A folder that changed a moment ago may change again within the same tick: look at it once more.
        self._folders = {name: moment for name, moment in folders.items() if moment < started - TICK_NS}
        if full:
            took = (time.time_ns() - started) / 1e9
            self._next_full = time.monotonic() + max(FULL_LOOK_EVERY_S, took * FULL_LOOK_SHARE)
        with self._reading():
            heads = [load_head(self._disk.head(path, HEAD_BYTES)) for path in found]
        return list(dict.fromkeys(head[0] for head in heads if head))

    def _changed_files(self, folder: str) -> list[str]:
        found = []
        with self._reading():
            times = self._disk.change_times(f"{FOLDER}/{folder}")
        for name, moment in times.items():
            path = f"{FOLDER}/{folder}/{name}"
            if name.endswith(".xml") and moment > self._since and self._seen.get(path) != moment:
                self._seen[path] = moment
                found.append(path)
        return found
