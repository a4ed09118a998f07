"""What an embedder is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

Vector = Sequence[float]


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Return the name of the vectors: those of one name may be compared. It never holds a key."""
        ...

    def embed(self, texts: Sequence[str], *, is_question: bool = False) -> list[Vector]:
        """Return a vector for each text, in order, all of one length. Raises nebula.llm's errors."""
        ...
