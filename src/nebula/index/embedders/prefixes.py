"""What some models want to be told: whether a text is a question or a passage."""

from __future__ import annotations

_PREFIXES = (
    # part of the model's name, before a question, before a passage
    ("e5", "query: ", "passage: "),
    ("nomic-embed", "search_query: ", "search_document: "),
    ("mxbai", "Represent this sentence for searching relevant passages: ", ""),
    ("snowflake-arctic", "query: ", ""),
    ("bge-", "Represent this sentence for searching relevant passages: ", ""),
)


def with_prefix(model: str, text: str, is_question: bool) -> str:
    name = model.lower()
    for part, question, passage in _PREFIXES:
        if part in name and "bge-m3" not in name:
            return (question if is_question else passage) + text
    return text
