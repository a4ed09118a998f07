"""Descriptors of the system, what else is closed at the end of its block, and the names that errors lack."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class ClosedByBlock:
    """Base of what a `with` block closes at its end."""

    __slots__ = ()

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def closed_after(handle: int) -> Iterator[int]:
    """Yield a descriptor, and close it at the end of the block."""
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Give an OSError of the block that names no file the name of this one. What fails on a descriptor knows no name,
    and whoever is told only that a disk is full does not know which."""
    try:
        yield
    except OSError as problem:
        if problem.filename is None and problem.errno is not None:
            problem.filename = os.fspath(path)
        raise
