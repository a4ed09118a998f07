"""Segments made by several processes at once; a first index needs it, an edited file does not.

Plain child processes rather than `multiprocessing`: they do not run the caller's main module again, and work the same
from a server's thread.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from nebula.files.system.machine import usable_cores
from nebula.index.building.batches import Built, Wanted, batches, build
from nebula.index.constants import MAX_WORKERS, PARALLEL_BYTES
from nebula.index.errors import IndexFailed
from nebula.index.reading import Root

LOOK_S: Final = 0.1
"""Between two looks whether somebody asked to stop."""


def build_all(root: Root, wanted: list[Wanted]) -> Iterator[Built]:
    """Yield segments as they are made, in no particular order."""
    count = min(MAX_WORKERS, usable_cores())
    if count < 2 or sum(stamp.size for _, stamp in wanted) < PARALLEL_BYTES:
        yield from (build(root, batch) for batch in batches(wanted))
        return
    yield from _in_processes(root, list(batches(wanted)), count)


def _in_processes(root: Root, work: list[list[Wanted]], count: int) -> Iterator[Built]:
    todo: queue.SimpleQueue[list[Wanted] | None] = queue.SimpleQueue()
    done: queue.Queue[Built | BaseException] = queue.Queue(maxsize=count)
    for batch in work:
        todo.put(batch)
    workers = [_start(root) for _ in range(min(count, len(work)))]
    threads = [threading.Thread(target=_attend, args=(each, todo, done), daemon=True) for each in workers]
    try:
        for thread in threads:
            todo.put(None)
            thread.start()
        for _ in work:
            built = _next_of(done, root)
            if isinstance(built, BaseException):
                raise IndexFailed("A process that reads files for the index ended too early: {error}", error=built)
            yield built
    finally:
        _stop(workers, done, threads)


def _next_of(done: queue.Queue[Built | BaseException], root: Root) -> Built | BaseException:
    while True:
        root.check_stop()
        with suppress(queue.Empty):
            return done.get(timeout=LOOK_S)


def _start(root: Root) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "nebula.index.building.worker", root.path]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    # In a group of its own: a Ctrl-C in the terminal is for the program that it works for.
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, process_group=0)


def _attend(
    worker: subprocess.Popen[bytes],
    todo: queue.SimpleQueue[list[Wanted] | None],
    done: queue.Queue[Built | BaseException],
) -> None:
    """Hand one worker batch after batch."""
    if worker.stdin is None or worker.stdout is None:
        return
    while (batch := todo.get()) is not None:
        try:
            pickle.dump(batch, worker.stdin, protocol=5)
            worker.stdin.flush()
            done.put(pickle.load(worker.stdout))  # noqa: S301 - from our own child
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            done.put(error)
            return


def _stop(
    workers: Iterable[subprocess.Popen[bytes]],
    done: queue.Queue[Built | BaseException],
    threads: Iterable[threading.Thread],
) -> None:
    for worker in workers:
        worker.kill()
    for thread in threads:
        while thread.is_alive():
            while not done.empty():  # a thread may wait for room
                done.get_nowait()
            thread.join(0.01)
    for worker in workers:
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                pipe.close()
