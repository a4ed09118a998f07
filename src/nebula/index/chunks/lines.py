"""The lines of a file, and windows over them."""

from __future__ import annotations

from collections.abc import Iterator

from nebula.index.constants import BINARY_PROBE_BYTES, MAX_CHUNK_BYTES, REST_LINES, WINDOW_BYTES, WINDOW_LINES
from nebula.index.values import Span


class Lines:
    """A file cut at its line feeds, as git and editors count. A carriage return stays part of its line."""

    def __init__(self, data: bytes) -> None:
        self.rows = data.split(b"\n")
        if self.rows[-1] == b"":
            self.rows.pop()

    def __len__(self) -> int:
        return len(self.rows)

    def text(self, start: int, end: int) -> str:
        """Lines from `start` to `end`, counted from 1, without the last line's ending."""
        return b"\n".join(self.rows[start - 1 : end]).removesuffix(b"\r").decode("utf-8", "replace")

    def is_blank(self, start: int, end: int) -> bool:
        """Whether no line of them holds anything but space and brackets."""
        return not any(row.strip(b" \t\r\f}]);,{([") for row in self.rows[start - 1 : end])


def why_not(data: bytes) -> str:
    """Why a file's content cannot be indexed; "" if it can."""
    if b"\0" in data[:BINARY_PROBE_BYTES]:
        return "binary"
    if len(data) > MAX_CHUNK_BYTES and max(map(len, data.split(b"\n"))) > MAX_CHUNK_BYTES:
        return f"a line is longer than {MAX_CHUNK_BYTES:,} bytes"
    return ""


def windows(lines: Lines, start: int, end: int, symbol: str = "", size: int = WINDOW_LINES) -> Iterator[Span]:
    """Lines `start` to `end` in pieces of about `size` lines, fewer where they are long."""
    rows = lines.rows
    while start <= end:
        last, room = start, WINDOW_BYTES - len(rows[start - 1])
        while last < end and last - start + 1 < size and room >= len(rows[last]):
            room -= len(rows[last])
            last += 1
        if end - last < REST_LINES and sum(map(len, rows[last:end])) <= max(room, 0) + WINDOW_BYTES // 4:
            last = end
        yield Span(start, last, symbol)
        start = last + 1
