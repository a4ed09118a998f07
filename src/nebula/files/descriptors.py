"""Descriptors of the system, and what else is closed at the end of the block that needs it."""

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
