"""Files are flushed at the same moment; what goes wrong with one of them is told."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

from nebula.files import flushing
from nebula.files.flushing import flush_together
from nebula.files.folder import Folder

NAMES = [str(number) for number in range(20)]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    for name in NAMES:
        (tmp_path / name).touch()
    with Folder.at(str(tmp_path)) as opened:
        yield opened


def name_of(handle: int) -> str:
    return os.path.basename(os.readlink(f"/proc/self/fd/{handle}"))


def test_two_files_are_flushed_at_the_same_moment(folder: Folder) -> None:
    both = threading.Barrier(2, timeout=10)
    for _ in range(2):
        flush_together(folder, NAMES[:2], lambda handle: both.wait() and None)


@pytest.mark.parametrize("bad", [0, 8, 15])
def test_each_is_flushed_once_and_an_error_is_raised_at_the_end(folder: Folder, bad: int) -> None:
    flushed: list[str] = []

    def flush(handle: int) -> None:
        flushed.append(name_of(handle))
        if flushed[-1] == NAMES[bad]:
            raise OSError(errno.EIO, "gone")

    with pytest.raises(OSError, match="gone"):
        flush_together(folder, NAMES[:16], flush)
    assert sorted(flushed) == sorted(NAMES[:16])


def test_none_and_one_and_many_and_what_is_not_there(folder: Folder) -> None:
    flushed: list[str] = []
    for names in ([], ["0"], ["1", "none", "1"], NAMES[2:]):
        flush_together(folder, names, lambda handle: flushed.append(name_of(handle)))
    assert sorted(flushed) == sorted(NAMES)


def test_a_forked_process_flushes_too(folder: Folder) -> None:
    flush_together(folder, NAMES, os.fsync)
    child = get_context("fork").Process(target=flush_together, args=(folder, NAMES, os.fsync))
    child.start()
    child.join(10)
    assert child.exitcode == 0


def test_where_no_thread_is_to_be_had_one_is_flushed_after_the_other(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    monkeypatch.setattr(flushing, "_helpers", flushing._Helpers())
    flushed: list[str] = []
    flush_together(folder, NAMES, lambda handle: flushed.append(name_of(handle)))
    assert sorted(flushed) == sorted(NAMES)
