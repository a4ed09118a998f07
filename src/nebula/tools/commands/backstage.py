"""Show a command's output while it runs, backstage: a little at a time, and whole lines only.

Each event is redacted by itself, and half of a key cannot be recognised. So an unfinished line waits for its end, a
line that is too long to wait for is skipped, and nothing of a private key is shown.
"""

from __future__ import annotations

import asyncio
import time

from nebula.events import Output
from nebula.tools.contract import Call

EVERY_S = 0.2
AT_ONCE = 4_000
"""In bytes; faster output is only in the result."""
_BEGIN, _END = b"-----BEGIN ", b"-----END "


class WholeLines:
    """The newest bytes of a stream, cut between lines."""

    def __init__(self) -> None:
        self._lines = b""
        self._rest = b""
        self._is_cut = False
        """True within a line whose beginning was skipped."""
        self._in_key = False

    def add(self, data: bytes) -> None:
        text = self._rest + data
        end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        start = _behind_break(text) if self._is_cut and end else 0
        self._is_cut = self._is_cut and not end
        begun, ended = text.rfind(_BEGIN, 0, end), text.rfind(_END, 0, end)
        if begun != ended:
            self._in_key = begun > ended
        self._lines = _last_lines(self._lines + text[start:end])
        self._rest = text[end:]
        if len(self._rest) > AT_ONCE:
            self._rest, self._is_cut = b"", True

    def take(self) -> str:
        """Return the lines since the last call, without any part of a private key."""
        lines, self._lines = self._lines, b""
        begun, ended = lines.find(_BEGIN), lines.find(_END)
        if 0 <= ended < begun or ended >= 0 > begun:
            lines = lines[ended + _behind_break(lines[ended:]) :]
        if self._in_key:
            lines = lines[: max(lines.rfind(_BEGIN), 0)]
        return lines.decode("utf-8", "replace")


def _behind_break(text: bytes) -> int:
    """Return the index at which the second line begins."""
    return min(at for at in (text.find(b"\n"), text.find(b"\r"), len(text)) if at >= 0) + 1


def _last_lines(text: bytes) -> bytes:
    if len(text) <= AT_ONCE:
        return text
    tail = text[-AT_ONCE:]
    return tail[_behind_break(tail) :]


class LiveOutput:
    """Takes the output from the thread that runs the command."""

    def __init__(self, call: Call, loop: asyncio.AbstractEventLoop) -> None:
        self._call = call
        self._loop = loop
        self._said = WholeLines()
        self._next = 0.0

    def heard(self, data: bytes) -> None:
        self._said.add(data)
        now = time.monotonic()
        if now < self._next:
            return
        text = self._said.take()
        if text:
            self._next = now + EVERY_S
            self._loop.call_soon_threadsafe(self._call.emit, Output(self._call.use.id, text))
