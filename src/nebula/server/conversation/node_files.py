"""Which node files changed since the last look, told by the times of folders and files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Final

from nebula.graph.formats.node_xml import load_head

HEAD_BYTES: Final = 4096
TICK_NS: Final = 50_000_000
"""File times are at most this coarse."""
FULL_LOOK_EVERY_S: Final = 5.0
FULL_LOOK_SHARE: Final = 50
"""A full look, which also finds files edited in place, may take one part in this many of the time."""


class NodeFiles:
    """The change time, not the modification time: a copy may carry any date, but not when it came here."""

    def __init__(self, data_dir: str) -> None:
        self._root = os.path.join(data_dir, "nodes")
        self._folders: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        self._since = time.time_ns() - TICK_NS
        self._next_full = 0.0

    def look(self) -> list[str]:
        """Ids of the nodes whose files are new or changed since the last call."""
        started = time.time_ns()
        folders = dict(self._folder_times())
        full = time.monotonic() >= self._next_full
        changed = [name for name, moment in folders.items() if full or self._folders.get(name) != moment]
        found = [path for name in changed for path in self._changed_files(name)]
        # A folder that changed a moment ago may change again within the same tick: look at it once more.
        self._folders = {name: moment for name, moment in folders.items() if moment < started - TICK_NS}
        if full:
            took = (time.time_ns() - started) / 1e9
            self._next_full = time.monotonic() + max(FULL_LOOK_EVERY_S, took * FULL_LOOK_SHARE)
        return list(dict.fromkeys(node_id for path in found if (node_id := _id_in(path))))

    def _folder_times(self) -> Iterator[tuple[str, int]]:
        try:
            with os.scandir(self._root) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        yield entry.path, entry.stat(follow_symlinks=False).st_mtime_ns
        except FileNotFoundError:
            return

    def _changed_files(self, folder: str) -> Iterator[str]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.name.endswith(".xml"):
                        continue
                    moment = entry.stat(follow_symlinks=False).st_ctime_ns
                    if moment > self._since and self._seen.get(entry.path) != moment:
                        self._seen[entry.path] = moment
                        yield entry.path
        except FileNotFoundError:
            return


def _id_in(path: str) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""  # gone again, or no plain file
    try:
        head = load_head(os.read(handle, HEAD_BYTES))
    except OSError:
        return ""
    finally:
        os.close(handle)
    return head[0] if head else ""
