"""Read some lines of a file of any size, in one pass and without holding the rest in memory."""

from __future__ import annotations

import os
from typing import Final

from nebula.value import value

_CHUNK: Final = 1 << 20


@value
class LineRange:
    content: bytes
    """Whole lines, each with its line feed; or the beginning of a line that is too long."""
    last: int
    """The number of its last line; less than requested where the file or the room ended."""
    total_lines: int
    sha256: str
    """Of the whole file."""
    size: int


def read_line_range(fd: int, first: int, last: int | None, room: int) -> LineRange:
    """Return lines `first` to `last` (None: the end), counted from 1: as many whole lines as fit into `room` bytes."""
    from hashlib import sha256  # loads the TLS library, 5 ms that an import should not take

    seen, wanted = sha256(), bytearray()
    number, size, ended = 1, 0, True
    while chunk := os.read(fd, _CHUNK):
        seen.update(chunk)
        size += len(chunk)
        ended = chunk.endswith(b"\n")
        breaks = chunk.count(b"\n")
        if number + breaks >= first and (last is None or number <= last) and len(wanted) <= room:
            wanted += _lines_of(chunk, first - number, None if last is None else last - number)
        number += breaks
    total = number - 1 if ended else number
    content, lines = _whole_lines(bytes(wanted), room)
    return LineRange(content, min(first + lines - 1, total), total, seen.hexdigest(), size)


def _lines_of(chunk: bytes, first: int, last: int | None) -> bytes:
    """Return lines `first` to `last` of a chunk, counted from 0; at its ends there may be parts of lines."""
    start = 0
    for _ in range(first):
        start = chunk.index(b"\n", start) + 1
    if last is None:
        return chunk[start:]
    end = start
    for _ in range(max(first, 0), last + 1):
        found = chunk.find(b"\n", end)
        if found < 0:
            return chunk[start:]
        end = found + 1
    return chunk[start:end]


def _whole_lines(content: bytes, room: int) -> tuple[bytes, int]:
    """Return the lines that fit, and how many they are; a line that is too long by itself is cut and counts as none."""
    if len(content) <= room:
        return content, content.count(b"\n") + (content[-1:] not in (b"", b"\n"))
    whole = content[: content.rfind(b"\n", 0, room) + 1]
    if whole:
        return whole, whole.count(b"\n")
    end = room
    while end > 0 and content[end] & 0xC0 == 0x80:  # within a character
        end -= 1
    return content[:end], 0
