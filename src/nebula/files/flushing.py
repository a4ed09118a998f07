"""Flush several files, or folders, at the same moment.

A file system commits all who wait for it in one go, so what is flushed together costs little more than one file. The
helpers wait for the next time: starting a thread takes longer than the moment that counts.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from _queue import SimpleQueue
from collections.abc import Callable, Iterable

from nebula.files.folder import Folder

_HELPERS = 3
_TOGETHER = 16
"""So many descriptors are open at a time."""
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_Flush = Callable[[int], None]
_Job = tuple[_Flush, int, "SimpleQueue[OSError | None]"]


class _Helpers:
    """Threads that flush what lies in the queue, made when they are first needed."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[_Job] = SimpleQueue()
        self._count = 0

    def are_there(self, wanted: int) -> bool:
        while self._count < min(wanted, _HELPERS):
            try:
                threading.Thread(target=self._run, name="flush", daemon=True).start()
            except RuntimeError:  # no thread is to be had, or the interpreter ends
                break
            self._count += 1
        return self._count > 0

    def _run(self) -> None:
        while True:
            flush, handle, done = self.jobs.get()
            try:
                flush(handle)
            except OSError as error:
                done.put(error)
            else:
                done.put(None)


_helpers = _Helpers()


def flush_together(folder: Folder, paths: Iterable[str], flush: _Flush) -> None:
    """Flush what is at these paths in a folder by calling `flush`; what is not there, or behind a link, is passed over.
    Raise the first error once none of them is at work any more. This thread begins with the last: let it be the
    largest."""
    left = list(dict.fromkeys(paths))
    while left:
        now, left = left[:_TOGETHER], left[_TOGETHER:]
        with contextlib.ExitStack() as opened:
            handles = []
            for path in now:
                try:
                    handles.append(folder.open(path))
                except OSError as error:
                    if error.errno not in _NOT_THERE:
                        raise
                else:
                    opened.callback(os.close, handles[-1])
            given = handles[:-1] if _helpers.are_there(len(handles) - 1) else []
            done: SimpleQueue[OSError | None] = SimpleQueue()
            for handle in given:
                _helpers.jobs.put((flush, handle, done))
            problems: list[OSError | None] = []
            for handle in handles[len(given) :]:
                try:
                    flush(handle)
                except OSError as error:
                    problems.append(error)
            problems += [done.get() for _ in given]
        for problem in filter(None, problems):
            raise problem


def _forget_helpers() -> None:
    """Begin anew in a forked process: threads do not come along."""
    global _helpers
    _helpers = _Helpers()


os.register_at_fork(after_in_child=_forget_helpers)
