"""Follows the files while an editor is open.

It looks rather than listens: a look at 7,000 files costs some 30 ms, and, unlike change notices of the system, it
misses nothing, needs no limit raised and works on every file system.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from nebula.index.constants import WATCH_PAUSE_S, WATCH_SHARE
from nebula.index.index import Index
from nebula.index.values import Report


def watch(index: Index, stop: threading.Event, on_change: Callable[[Report], None] = lambda _: None) -> None:
    """Keep the index in step until `stop` is set; tell of every change."""
    while not stop.is_set():
        started = time.monotonic()
        report = index.sync()
        if report != Report():
            on_change(report)
        stop.wait(max(WATCH_PAUSE_S, (time.monotonic() - started) / WATCH_SHARE))
