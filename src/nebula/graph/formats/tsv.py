"""`index.tsv`: relpath, uuid, timestamp; one line a file, in order of creation, only ever appended to.

Lines that make no sense (the seed's own example has `...`) are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import starmap
from typing import NamedTuple

HEADER = "relpath\tuuid\ttimestamp\n"

_ROWS = {
    suffix: re.compile(rf"^(\d{{1,9}}/\d{{1,9}}\.{suffix})\t([^\t\r\n]+)(?:\t([^\t\r\n]*))?", re.ASCII | re.MULTILINE)
    for suffix in ("xml", "yaml")
}


class Line(NamedTuple):
    path: str
    id: str
    timestamp: str

    def text(self) -> str:
        return f"{self.path}\t{self.id}\t{self.timestamp}\n"


def parse(text: str, suffix: str) -> Iterator[Line]:
    """Return the lines that name a file of the store: `digits/digits.suffix` and an id, whatever follows."""
    return starmap(Line, _ROWS[suffix].findall(text))


def without(data: bytes, paths: set[str]) -> bytes:
    """Return the file's bytes without the lines of those paths; all other lines untouched."""
    gone = {path.encode("ascii") for path in paths}
    return b"".join(row for row in data.splitlines(keepends=True) if row.partition(b"\t")[0] not in gone)


def count_odd(text: str, suffix: str) -> int:
    """Count the lines that are neither the header nor name a file: conflict markers, halves of lines."""
    rows = [row for row in text.removeprefix("\ufeff").split("\n") if row.strip() and row.rstrip("\r") + "\n" != HEADER]
    return len(rows) - sum(1 for _ in parse("\n".join(rows), suffix))
