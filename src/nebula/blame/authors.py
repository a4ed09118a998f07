"""Who a line can belong to."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Final, Literal, get_args

from nebula.value import value

AuthorKind = Literal["turn", "you", "other", "before"]


@value
class Author:
    kind: AuthorKind
    of: str = ""
    """Of a turn its id (trace, node and journal group are one); of another agent the id of its record."""


YOU: Final = Author("you")
"""A person, or another program, between two states that turns left or found."""
BEFORE: Final = Author("before")
"""It was there when a turn first changed the file, or nobody can know."""


def pack_authors(authors: Iterable[Author]) -> list[list[str | int]]:
    """Return the authors of lines as runs of kind, id and number of lines."""
    return [[author.kind, author.of, sum(1 for _ in own)] for author, own in groupby(authors)]


def unpack_authors(packed: Iterable[tuple[AuthorKind, str, int]], lines: int) -> list[Author]:
    """Return the authors of so many lines from what `pack_authors` made of them. Raises TypeError or ValueError where
    it is of another number of lines, or of anything else."""
    authors = [author for kind, of, count in packed for author in [Author(kind, of)] * count]
    if len(authors) != lines or any(author.kind not in get_args(AuthorKind) for author in authors):
        raise ValueError("it does not cover the file")
    return authors
