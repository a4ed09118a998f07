"""What a command says while it runs, for those who look backstage: a little at a time, and whole lines only.

Secrets are taken out of each event by itself, and half of a key has no shape to be known by. So an unfinished line
waits for its end, a line too long to wait for is passed over, and nothing of a private key is shown.
"""

from __future__ import annotations

import asyncio
import time

from nebula.events import Output
from nebula.tools.contract import Call

EVERY_S = 0.2
AT_ONCE = 4_000
"""Bytes: what runs past faster is in the result."""
_BEGIN, _END = b"-----BEGIN ", b"-----END "


class WholeLines:
    """The end of a stream of bytes, cut where nothing is torn apart."""

    def __init__(self) -> None:
        self._lines = b""
        self._rest = b""
        self._is_cut = False
        """True in the middle of a line whose beginning was passed over."""
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
        """Return what came since the last time, without a private key or a part of one."""
        lines, self._lines = self._lines, b""
        begun, ended = lines.find(_BEGIN), lines.find(_END)
        if 0 <= ended < begun or ended >= 0 > begun:
            lines = lines[ended + _behind_break(lines[ended:]) :]
        if self._in_key:
            lines = lines[: max(lines.rfind(_BEGIN), 0)]
        return lines.decode("utf-8", "replace")


def _behind_break(text: bytes) -> int:
    """Return where the second line begins."""
    return min(at for at in (text.find(b"\n"), text.find(b"\r"), len(text)) if at >= 0) + 1


def _last_lines(text: bytes) -> bytes:
    if len(text) <= AT_ONCE:
        return text
    tail = text[-AT_ONCE:]
    return tail[_behind_break(tail) :]


class LiveOutput:
    """Gets the output from the thread that runs the command."""

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
