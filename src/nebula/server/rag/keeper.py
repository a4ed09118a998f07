"""The threads of a running server that build the index, take in commits, and embed.

Each has its own index. An error here ends neither the server nor a thread: it is logged, reported by `/status`, and the
work is tried again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from nebula.index.errors import IndexStopped
from nebula.index.in_step.worktree import git_marks
from nebula.index.index import Index

LOOK_S: Final = 0.5
"""Seconds between two looks at the queue and at git: a change is taken in before anybody searches for it."""
EMBED_AGAIN_S: Final = 5.0
LONGEST_PAUSE_S: Final = 30.0
"""The longest wait before retrying work that keeps failing; the first retry comes after `LOOK_S`, and each wait is
twice the one before."""
STOPPING_S: Final = 1.0
"""For both threads together. One that waits for an embedder, or works out ranks, is left behind, as a kill would leave
it: what is in the index by then stays."""
_log = logging.getLogger(__name__)

OpenIndex = Callable[[], Index]


class Keeper:
    """`on_change` is called from a thread whenever `is_ready` or `problem` changed. `stop` ends what is under way."""

    def __init__(
        self, open_index: OpenIndex, on_change: Callable[[], object], stop: threading.Event | None = None
    ) -> None:
        self._open = open_index
        self._on_change = on_change
        self._stop = stop or threading.Event()
        self._opening = threading.Lock()
        """SQLite lets only one connection create a file, and another one does not wait its turn."""
        self._problems: dict[str, str] = {}
        self.is_ready = False
        """Set once the index has been in step with all files."""
        self._threads = [
            threading.Thread(target=self._keep_on, args=(work,), name=f"index-{work.__name__}", daemon=True)
            for work in (self._follow, self._embed)
        ]

    @property
    def problem(self) -> str:
        """The problem of the last try, in keeping in step or in embedding; "" if there was none."""
        return "; ".join(dict.fromkeys(filter(None, self._problems.copy().values())))

    @property
    def has_looked(self) -> bool:
        """Return whether the first look at all files was tried, successfully or not."""
        return self.is_ready or bool(self._problems.get(self._follow.__name__))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        end = time.monotonic() + STOPPING_S
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _keep_on(self, work: Callable[[Index], None]) -> None:
        """Do a thread's work until the server stops; after an error begin again."""
        pause = LOOK_S
        while not self._stop.is_set():
            try:
                with self._opening:
                    opened = self._open()
                with opened as index:
                    index.stop_by(self._stop)
                    work(index)
                self._note(work.__name__, "")
                return
            except IndexStopped:
                break
            except Exception as problem:  # noqa: BLE001 - see above: it is said, and tried again
                if self._stop.is_set():
                    break
                again = self._note(work.__name__, str(problem) or type(problem).__name__)
                pause = min(2 * pause, LONGEST_PAUSE_S) if again else LOOK_S
            self._stop.wait(pause)
        self._problems.setdefault(work.__name__, "the server is being stopped")
        self._on_change()

    def _follow(self, index: Index) -> None:
        marks = None
        while not self._stop.is_set():
            found = git_marks(index.root.path)
            if found != marks:  # a commit, pull, checkout or rebase; not all of them run a hook
                index.sync()
                marks = found
            elif index.queue.entries():
                index.drain()
            self.is_ready = True
            self._note(self._follow.__name__, "")
            self._stop.wait(LOOK_S)

    def _embed(self, index: Index) -> None:
        while index.embedders and not self._stop.wait(EMBED_AGAIN_S if index.status().embedded else LOOK_S):
            index.embed(self._stop)
            self._note(self._embed.__name__, "")

    def _note(self, work: str, problem: str) -> bool:
        """Log a problem, or with "" the end of one, if it is new. Return whether there was one already."""
        before = self._problems.get(work)
        self._problems[work] = problem
        if problem != before:
            if problem:
                _log.warning("the index could not be kept in step: %s", problem)
            self._on_change()
        return bool(before)
