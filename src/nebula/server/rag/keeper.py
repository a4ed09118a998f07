"""What a running server does by itself: builds the index, takes in what commits hand over, and embeds.

Each of its threads has an index of its own. Nothing that goes wrong here ends the server: what could not be done now is
tried again, and said in the server's log.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from nebula.index.in_step.worktree import git_marks
from nebula.index.index import Index

LOOK_S: Final = 0.5
"""Between two looks at the queue and at git: a change is taken in before anybody asks for it."""
EMBED_AGAIN_S: Final = 5.0
STOPPING_S: Final = 5.0
_log = logging.getLogger(__name__)

OpenIndex = Callable[[], Index]


class Keeper:
    def __init__(self, open_index: OpenIndex, on_ready: Callable[[], object]) -> None:
        self._open = open_index
        self._on_ready = on_ready
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=work, name=f"index-{work.__name__}", daemon=True)
            for work in (self._follow, self._embed)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(STOPPING_S)

    def _follow(self) -> None:
        with self._open() as index:
            marks = git_marks(index.root.path)
            _attempt(index.sync)
            self._on_ready()
            while not self._stop.wait(LOOK_S):
                if (found := git_marks(index.root.path)) != marks:
                    marks = found  # a commit, pull, checkout or rebase; not all of them run a hook
                    _attempt(index.sync)
                elif index.queue.entries():
                    _attempt(index.drain)

    def _embed(self) -> None:
        with self._open() as index:
            while index.embedders and not self._stop.wait(EMBED_AGAIN_S if index.status().embedded else LOOK_S):
                _attempt(lambda: index.embed(self._stop))


def _attempt(work: Callable[[], object]) -> None:
    try:
        work()
    except Exception as problem:  # noqa: BLE001 - see above: it is tried again at the next look
        _log.warning("the index could not be kept in step: %s", problem)
