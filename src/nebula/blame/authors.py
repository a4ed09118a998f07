"""Who a line can belong to."""

from __future__ import annotations

from typing import Final, Literal

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
