"""The lines of a file, and windows over them."""

from __future__ import annotations

from collections.abc import Iterator

from nebula.index.constants import MAX_CHUNK_BYTES, REST_LINES, WINDOW_BYTES, WINDOW_LINES
from nebula.index.values import Span


class Lines:
    """A text in UTF-8 cut at its line feeds, as git and editors count. A carriage return stays part of its line."""

    def __init__(self, data: bytes, most: int = -1) -> None:
        """Keep the first `most` lines only, where it is given: to cut off all of them takes most of reading a hit."""
        self.rows = data.split(b"\n", most)
        if len(self.rows) == most + 1 or self.rows[-1] == b"":
            self.rows.pop()

    def __len__(self) -> int:
        return len(self.rows)

    def text(self, start: int, end: int) -> str:
        """Return lines `start` to `end`, counted from 1, without the last line's ending."""
        return b"\n".join(self.rows[start - 1 : end]).removesuffix(b"\r").decode("utf-8", "replace")

    def is_blank(self, start: int, end: int) -> bool:
        """Return whether none of these lines holds anything but space and brackets."""
        return not any(row.strip(b" \t\r\f}]);,{([") for row in self.rows[start - 1 : end])


def has_overlong_line(data: bytes) -> bool:
    """Return whether a line of a text is too long for a chunk; only every so many bytes a line feed is looked for."""
    start = 0
    while len(data) - start > MAX_CHUNK_BYTES:
        start = data.rfind(b"\n", start, start + MAX_CHUNK_BYTES + 1) + 1
        if start == 0:
            return True
    return False


def has_only_overlong_lines(data: bytes) -> bool:
    """Return whether nothing but space is left of a text without the lines that are too long for a chunk."""
    return has_overlong_line(data) and not any(row.strip() for row in data.split(b"\n") if len(row) <= MAX_CHUNK_BYTES)


def leave_out_overlong(lines: Lines, spans: list[Span]) -> list[Span]:
    """Return the spans without the lines that are too long for a chunk: one with such a line falls into parts."""
    overlong = [number for number, row in enumerate(lines.rows, 1) if len(row) > MAX_CHUNK_BYTES]
    kept = []
    for span in spans:
        start = span.start
        for line in overlong:
            if start <= line <= span.end:
                kept.append(Span(start, line - 1, span.symbol))
                start = line + 1
        kept.append(Span(start, span.end, span.symbol))
    return [span for span in kept if span.start <= span.end]


def windows(lines: Lines, start: int, end: int, symbol: str = "", size: int = WINDOW_LINES) -> Iterator[Span]:
    """Yield lines `start` to `end` in pieces of about `size` lines, fewer where they are long."""
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
