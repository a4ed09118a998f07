"""Keep single results small, so that they do not fill the context."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nebula.messages import truncate_safe

MAX_LISTED = 2_000
"""How many paths one list or search returns."""


def quoted_size(value: Any) -> int:
    """Return the bytes of a value inside the JSON of a result."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def whole_lines(lines: Sequence[str], room: int) -> tuple[int, int]:
    """Return how many lines of the head and of the tail fit into `room` bytes of JSON, half of it for each."""
    head = fitting_lines(lines, room // 2)
    return head, fitting_lines(lines[:head:-1], room // 2)


def fitting_lines(lines: Sequence[str], room: int) -> int:
    for count, line in enumerate(lines):
        room -= quoted_size(line)
        if room < 0:
            return count
    return len(lines)


def cut_middle(text: str, max_bytes: int) -> tuple[str, int]:
    """Return head and tail of a string that is too long, with a note between them, and how many bytes were left out."""
    raw = text.encode("utf-8", "surrogateescape")
    if len(raw) <= max_bytes:
        return text, 0
    half = max(max_bytes, 0) // 2
    head = truncate_safe(text, half)
    tail = raw[len(raw) - half :].decode("utf-8", "ignore")
    left_out = len(raw) - len(head.encode("utf-8", "surrogateescape")) - len(tail.encode("utf-8"))
    return f"{head}\n[… {left_out} of {len(raw)} bytes left out …]\n{tail}", left_out
