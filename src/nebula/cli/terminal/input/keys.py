"""Keys: those of the prompt being written, and those that count while a turn runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from nebula.cli.terminal.input.contract import Watch
from nebula.cli.terminal.input.typed_ahead import TypedAhead

ESCAPE_WAIT_S = 0.1
"""An Esc that nothing follows for so long is the key, not the beginning of a sequence."""


class TerminalKeys(Vt100Input):
    """The terminal's keys, where a line feed that ends typed text is Enter.

    A person's Ctrl+J comes alone and means a new line; a program that types for a person sends its line in one go and
    ends it with a line feed.
    """

    def __init__(self, stdin: TextIO) -> None:
        super().__init__(stdin)
        self.stdin_reader = PosixStdinReader(self.fileno(), encoding="utf-8")

    def read_keys(self) -> list[KeyPress]:
        keys = super().read_keys()
        typed = False
        for index, press in enumerate(keys):
            if press.key == Keys.ControlJ and typed:
                keys[index] = KeyPress(Keys.ControlM, "\r")
            typed = typed or _is_text(press)
        return keys


class TurnKeys:
    """Listens while a turn runs: Ctrl-C and Esc interrupt, Ctrl-O looks backstage, text is kept for the next prompt."""

    def __init__(self, source: TerminalKeys, typed: TypedAhead) -> None:
        self._source = source
        self._typed = typed
        self._flush: asyncio.TimerHandle | None = None

    @contextmanager
    def watching(self, watch: Watch) -> Iterator[None]:
        def read() -> None:
            self._handle(self._source.read_keys(), watch)
            self._flush_later(watch)

        with self._source.raw_mode(), self._source.attach(read):
            try:
                yield
            finally:
                if self._flush is not None:
                    self._flush.cancel()

    def _flush_later(self, watch: Watch) -> None:
        if self._flush is not None:
            self._flush.cancel()
        loop = asyncio.get_running_loop()
        self._flush = loop.call_later(ESCAPE_WAIT_S, lambda: self._handle(self._source.flush_keys(), watch))

    def _handle(self, presses: list[KeyPress], watch: Watch) -> None:
        actions: dict[Keys | str, Callable[[], None]] = {
            Keys.ControlC: watch.interrupt,
            Keys.Escape: watch.interrupt,
            Keys.ControlO: watch.toggle_backstage,
            Keys.ControlM: self._typed.entered,
            Keys.ControlJ: lambda: self._typed.typed("\n"),
            Keys.ControlH: self._typed.erased,
        }
        for press in presses:
            if press.key in actions:
                actions[press.key]()
            elif press.key == Keys.BracketedPaste:
                self._typed.typed(press.data.replace("\r\n", "\n").replace("\r", "\n"))
            elif _is_text(press):
                self._typed.typed(press.data)


def _is_text(press: KeyPress) -> bool:
    return len(press.key) == 1 and press.key.isprintable()
