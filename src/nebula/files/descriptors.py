"""Descriptors of the system, for as long as a block needs them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def closed_after(handle: int) -> Iterator[int]:
    """Yield a descriptor, and close it at the end of the block."""
    try:
        yield handle
    finally:
        os.close(handle)
