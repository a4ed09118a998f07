"""What a server prints on its standard error: the end of it is kept, for the reason why it failed."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import IO, Self

KEPT_BYTES = 16_384
READ_BYTES = 65_536
WAIT_S = 2.0


class LastWords:
    """A pipe that takes any amount and keeps its end. A file would grow with what a server likes to print."""

    def __enter__(self) -> Self:
        reading, writing = os.pipe()
        self.file: IO[str] = os.fdopen(writing, "w", encoding="utf-8", errors="replace")
        self._end = b""
        self._thread = threading.Thread(target=self._read, args=(reading,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._hang_up()

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as source:
            while piece := source.read(READ_BYTES):
                self._end = (self._end + piece)[-KEPT_BYTES:]

    def last_line(self) -> str:
        """Return the last line that says anything, once the server has ended."""
        self._hang_up()
        self._thread.join(WAIT_S)  # a child of the server may hold its side open
        lines = [line.strip() for line in self._end.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.file.close()
