"""Input line by line: for pipes and for terminals that cannot move their cursor.

One reader for all questions, with its own buffer: an answer that came in the same chunk as the prompt is not swallowed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from nebula.cli.terminal.input.contract import EndOfInput, Interrupted, Watch
from nebula.cli.terminal.output.screen import Screen

_CHUNK = 65_536


class LineInput:
    def __init__(self, fd: int, screen: Screen, label: Callable[[], str], mark: Callable[[], str]) -> None:
        self._fd = fd
        self._screen = screen
        self._label = label
        self._mark = mark
        """What the status line of a better terminal would warn of."""
        self._terminal = os.isatty(fd)
        self._watch: Watch | None = None
        self._buffer = b""
        self._ended = False

    def attached(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def prompt(self) -> str:
        mark = self._mark()
        if mark:
            self._screen.line(mark, "dim")
        lines = [await self._line(self._label())]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(await self._line("… "))
        return "\n".join(lines)

    async def edit(self, text: str) -> str:
        """The text cannot be changed on such a terminal: an empty line takes it as it is."""
        self._screen.line(text)
        return await self.prompt() or text

    async def ask(self, question: str, *, fresh: bool = False, keys: str = "", is_agreement: bool = False) -> str:
        if fresh and self._terminal:
            import termios

            termios.tcflush(self._fd, termios.TCIFLUSH)
            self._buffer = b""
        return await self._line(question)

    @contextmanager
    def watching(self, watch: Watch) -> Iterator[None]:
        self._watch = watch
        self._hear_interrupts()
        try:
            yield
        finally:
            self._watch = None
            self._hear_interrupts()

    def _hear_interrupts(self) -> None:
        loop = asyncio.get_running_loop()
        if self._watch is None:
            loop.remove_signal_handler(signal.SIGINT)
        else:
            loop.add_signal_handler(signal.SIGINT, self._watch.interrupt)

    async def _line(self, question: str) -> str:
        ready = self._awaited()  # before the question is seen: whoever sees it may press Ctrl-C at once
        try:
            self._screen.ask(question)
            while b"\n" not in self._buffer and not self._ended:
                chunk = await self._chunk(ready)
                ready = self._awaited()
                self._buffer += chunk
                self._ended = not chunk
        finally:
            if not ready.cancel() and not ready.cancelled():
                ready.exception()  # a Ctrl-C that came with the end of the line: the line counts
            self._hear_interrupts()
        raw, newline, rest = self._buffer.partition(b"\n")
        if not raw and not newline:
            self._screen.line()
            raise EndOfInput
        self._buffer = rest
        line = raw.removesuffix(b"\r").decode("utf-8", "replace")
        if not self._terminal:
            self._screen.line(line)  # nobody else echoes it
        return line

    def _awaited(self) -> asyncio.Future[None]:
        """Done when there is something to read; Ctrl-C ends it from now on."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_signal_handler(signal.SIGINT, _settle, ready, Interrupted())
        return ready

    async def _chunk(self, ready: asyncio.Future[None]) -> bytes:
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(self._fd, _settle, ready)
        except PermissionError:
            return os.read(self._fd, _CHUNK)  # an ordinary file is always ready, and cannot be waited for
        try:
            await ready
        finally:
            loop.remove_reader(self._fd)
        return os.read(self._fd, _CHUNK)


def _settle(future: asyncio.Future[None], problem: Exception | None = None) -> None:
    if future.done():
        return
    if problem is None:
        future.set_result(None)
    else:
        future.set_exception(problem)
