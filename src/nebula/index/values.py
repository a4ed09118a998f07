"""What the index takes and gives, as plain values."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nebula.value import value

Progress = Callable[[int, int], None]
"""Called with how much is done, and how much there is."""
MAX_SKIPPED_NAMED = 1_000


class Span(NamedTuple):
    """Lines of a file, counted from 1, both ends included."""

    start: int
    end: int
    symbol: str = ""
    """The definitions that begin in it, qualified and separated by a space; "" where none does."""


@value
class Hit:
    """A piece of a file as it is now. `path#span` is its key."""

    path: str
    span: str
    """`Lx-Ly`"""
    text: str
    """Exactly those lines."""
    score: float
    symbol: str = ""
    commit: str = ""
    """The commit in which the file has this content; "" where it is in none, or there is no git."""
    blob: str = ""
    """The git blob id of the file's whole content."""
    language: str = ""

    def to_json(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__match_args__}


@value
class Skipped:
    path: str
    reason: str


@value
class Report:
    """What one change did to the index."""

    ingested: int = 0
    deleted: int = 0
    renamed: int = 0
    skipped: tuple[Skipped, ...] = ()


def joined(first: Report, second: Report) -> Report:
    """Return two changes as one."""
    return Report(
        first.ingested + second.ingested,
        first.deleted + second.deleted,
        first.renamed + second.renamed,
        first.skipped + second.skipped,
    )


@value
class Status:
    files: int
    chunks: int
    queued: int
    """Changes handed over by a hook and not yet applied."""
    embedded: int
    """Chunks whose text has a vector of the chosen model."""
    embedded_total: int
    """Texts ever sent to an embedder."""
    skipped: tuple[Skipped, ...]
    commit: str = ""
    embedder: str = ""

    def to_json(self) -> dict[str, object]:
        """`skipped` is how many; the first of them by name stand beside it."""
        named = [{"path": each.path, "reason": each.reason} for each in self.skipped[:MAX_SKIPPED_NAMED]]
        names: tuple[str, ...] = self.__match_args__
        plain = {name: getattr(self, name) for name in names}
        return {**plain, "skipped": len(self.skipped), "skipped_files": named}
