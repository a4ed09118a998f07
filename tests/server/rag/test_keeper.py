"""The server's own threads go on whatever happens to them, and say what did."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from index.project import Project, function
from nebula.index.index import Index
from nebula.server.rag import keeper as keeper_module
from nebula.server.rag.keeper import Keeper

WAIT_S = 20.0


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(keeper_module, "LOOK_S", 0.01)
    monkeypatch.setattr(keeper_module, "LONGEST_PAUSE_S", 0.02)
    project = Project(tmp_path)
    project.write("a.py", function("lighthouse"))
    project.commit()
    return project


class Kept:
    """A keeper at work, and what it told."""

    def __init__(self, open_index: Callable[[], Index], stop: threading.Event | None = None) -> None:
        self._changed = threading.Condition()
        self.problems: list[str] = []
        self.keeper = Keeper(open_index, self._note, stop)

    def _note(self) -> None:
        with self._changed:
            if self.keeper.problem:
                self.problems.append(self.keeper.problem)
            self._changed.notify_all()

    def wait_until(self, holds: Callable[[], bool]) -> None:
        with self._changed:
            assert self._changed.wait_for(holds, WAIT_S)

    def __enter__(self) -> Kept:
        self.keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.keeper.stop()


def failing_first(method: Callable[..., object], problem: Exception, times: int = 2) -> Callable[..., object]:
    left = [problem] * times

    def attempt(*args: object, **options: object) -> object:
        if left:
            raise left.pop()
        return method(*args, **options)

    return attempt


def test_a_first_sync_that_fails_is_tried_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Index, "sync", failing_first(Index.sync, sqlite3.OperationalError("database is locked")))
    with Kept(project.index) as kept:
        kept.wait_until(lambda: bool(kept.problems))
        assert not kept.keeper.is_ready or not kept.keeper.problem
        kept.wait_until(lambda: kept.keeper.is_ready and not kept.keeper.problem)
    assert {each.rpartition(": ")[2] for each in kept.problems} == {"database is locked"}
    with project.index() as index:
        assert index.status().files == 1


def test_an_index_that_cannot_be_opened_is_opened_later(project: Project) -> None:
    opener = failing_first(project.index, PermissionError("not now"), times=4)
    with Kept(opener) as kept:  # type: ignore[arg-type]
        kept.wait_until(lambda: kept.keeper.is_ready and not kept.keeper.problem)
    assert set(kept.problems) == {"not now"}


def test_a_later_sync_that_fails_is_tried_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with Kept(project.index) as kept:
        kept.wait_until(lambda: kept.keeper.is_ready)
        monkeypatch.setattr(Index, "sync", failing_first(Index.sync, RuntimeError("no")))
        project.write("b.py", function("beacon"))
        project.commit()
        kept.wait_until(lambda: "no" in kept.problems)
        kept.wait_until(lambda: not kept.keeper.problem)
        assert kept.keeper.is_ready
        with project.index() as index:
            assert index.status().files == 2


def test_a_queue_that_cannot_be_read_ends_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with Kept(project.index) as kept:
        kept.wait_until(lambda: kept.keeper.is_ready)
        with project.index() as index:
            kind = type(index.queue)
        monkeypatch.setattr(kind, "entries", failing_first(kind.entries, PermissionError("closed")))
        kept.wait_until(lambda: "closed" in kept.problems)
        kept.wait_until(lambda: not kept.keeper.problem)


def test_a_first_look_ends_when_somebody_asks_to_stop(project: Project) -> None:
    """Whoever waits for it hears that, and the next start finds what is missing."""
    stop = threading.Event()

    def stopped(_: str) -> bool:
        stop.set()  # the files are listed by now, and none is read
        return False

    def open_index() -> Index:
        index = project.index()
        index.hides = stopped
        return index

    with Kept(open_index, stop) as kept:
        kept.wait_until(lambda: kept.keeper.has_looked)
        assert not kept.keeper.is_ready and "stopped" in kept.keeper.problem
    with project.index() as index:
        assert index.status().files == 0
        index.sync()
        assert index.status().files == 1


class Embedder:
    name = "counting"

    def __init__(self) -> None:
        self.problems: list[Exception] = [RuntimeError("no quota"), RuntimeError("no quota")]

    def embed(self, texts: list[str], *, is_question: bool = False) -> list[list[float]]:
        if self.problems:
            raise self.problems.pop()
        return [[1.0, 0.0] for _ in texts]


def test_embedding_that_fails_is_tried_again(project: Project) -> None:
    embedder = Embedder()

    def open_index() -> Index:
        index = project.index()
        index.embedders = [embedder]
        return index

    with Kept(open_index) as kept:
        kept.wait_until(lambda: "no quota" in kept.problems)
        kept.wait_until(lambda: kept.keeper.is_ready and not kept.keeper.problem)
        with open_index() as index:
            kept.wait_until(lambda: index.status().embedded == 1 or not embedder.problems)
    assert not embedder.problems
