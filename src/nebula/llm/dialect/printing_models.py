"""Models that print their tool calls as text, by server: remembered in the user's home, so that the next session asks
them in the dialect from its first turn on. Only what was found out: the file can be thrown away, and choosing a model
by name takes it off the list."""

from __future__ import annotations

import os
from contextlib import suppress

from nebula.config.user_file import write_private
from nebula.files.digest import digest
from nebula.messages.redaction.key_shapes import holds_key

_FILE = "printing-models.txt"
_MOST = 1_000


class PrintingModels:
    """Without a home they are known for as long as the object lives."""

    def __init__(self, home: str = "", server: str = "") -> None:
        self._path = os.path.join(home, _FILE) if home else ""
        self._server = server
        self._found: set[str] = set()

    def __contains__(self, model: str) -> bool:
        if model in self._found:
            return True
        lines = self._lines()
        return bool(lines) and self._line(model) in lines

    def add(self, model: str) -> None:
        self._found.add(model)
        if model.isprintable() and not holds_key(model):
            self._write([*self._lines(), self._line(model)][-_MOST:])

    def forget(self, model: str) -> None:
        """Of every server: its own tool calls are tried again."""
        self._found.discard(model)
        lines = self._lines()
        kept = [line for line in lines if line.partition("\t")[2] != model]
        if kept != lines:
            self._write(kept)

    def _line(self, model: str) -> str:
        # An address may have a password in it, and is only compared.
        return f"{digest(self._server.encode())[:16]}\t{model}"

    def _lines(self) -> list[str]:
        if not self._path:
            return []
        try:
            with open(self._path, encoding="utf-8") as file:
                return file.read().splitlines()
        except (OSError, UnicodeDecodeError):
            return []

    def _write(self, lines: list[str]) -> None:
        if not self._path:
            return
        with suppress(OSError):  # then it is found out again
            write_private(self._path, "".join(f"{line}\n" for line in lines))
