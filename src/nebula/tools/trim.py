"""Keeping one result from flooding the context."""

from __future__ import annotations

from nebula.messages import truncate_safe

MAX_RESULT_BYTES = 100_000
"""Most that one tool result brings into the conversation: about 25,000 tokens of English text."""
MAX_LISTED = 2_000
"""Most paths in one list or search result."""


def cut_middle(text: str, max_bytes: int) -> tuple[str, int]:
    """Head and tail of a text too long, with the numbers told between them, and how many bytes were left out."""
    raw = text.encode("utf-8", "surrogateescape")
    if len(raw) <= max_bytes:
        return text, 0
    half = max_bytes // 2
    head = truncate_safe(text, half)
    tail = raw[-half:].decode("utf-8", "ignore")
    left_out = len(raw) - len(head.encode("utf-8", "surrogateescape")) - len(tail.encode("utf-8"))
    return f"{head}\n[… {left_out} of {len(raw)} bytes left out …]\n{tail}", left_out
