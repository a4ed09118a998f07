"""The index of a repository as a command left it, who may have made it up."""

from __future__ import annotations

import pytest

from nebula.sandbox.changes.git_index import NotUnderstood, read_entries


def index_of_growing_names(count: int) -> bytes:
    """In version 4 a name begins with that of the entry before: each of these is one letter longer."""
    entry = bytes(40) + b"\1" * 20 + b"\0\1" + b"\0" + b"a" + b"\0"
    return b"DIRC" + (4).to_bytes(4, "big") + count.to_bytes(4, "big") + entry * count


def test_names_without_end_are_not_collected() -> None:
    entries = read_entries(index_of_growing_names(200_000))
    assert [len(next(entries).name) for _ in range(3)] == [1, 2, 3]
    with pytest.raises(NotUnderstood):
        for _ in entries:
            pass
