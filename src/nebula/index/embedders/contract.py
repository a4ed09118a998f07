"""What an embedder is, and what some models want to be told: whether a text is a question or a passage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

Vector = Sequence[float]


_PREFIXES = (
    # part of the model's name, before a question, before a passage
    ("e5", "query: ", "passage: "),
    ("nomic-embed", "search_query: ", "search_document: "),
    ("mxbai", "Represent this sentence for searching relevant passages: ", ""),
    ("snowflake-arctic", "query: ", ""),
    ("bge-", "Represent this sentence for searching relevant passages: ", ""),
)


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Return the name of the vectors: those of one name may be compared. It never holds a key."""
        ...

    def embed(self, texts: Sequence[str], *, is_question: bool = False) -> list[Vector]:
        """Return a vector for each text, in order, all of one length. Raises nebula.llm's errors."""
        ...


def with_prefix(model: str, text: str, is_question: bool) -> str:
    name = model.lower()
    for part, question, passage in _PREFIXES:
        if part in name and "bge-m3" not in name:
            return (question if is_question else passage) + text
    return text
