"""What the kernel holds for the sockets of a command: it is in no process, and can be hundreds of times as large as all
of them.

The kernel tells of each socket in this network namespace what waits in it (`sock_diag(7)`).
"""

from __future__ import annotations

import _socket
import time
from _struct import Struct  # `struct` itself would be another file to find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_NETLINK, _SOCK_DIAG, _BY_FAMILY, _DUMP, _ERROR, _DONE = 16, 4, 20, 0x301, 2, 3
_UNIX, _IPV4, _IPV6 = 1, 2, 10
_HEAD, _ATTRIBUTE = Struct("=IHHII"), Struct("=HH")
_ASK_UNIX, _ASK_INTERNET = Struct("=BBHIIIII"), Struct("=BBBBI48s")
_EVERY_STATE = 0xFFFFFFFF
_QUEUES = 1 << 4
"""Of a Unix socket: bytes that were sent to it, and memory of what it sent and nobody has read."""
_MEMORY = 1 << 6
"""Of an internet socket: nine figures, of which the first is what it received, the sixth what it sends."""
_UNIX_ANSWER, _INTERNET_ANSWER = (16, 4, Struct("=II")), (72, 7, Struct("=9I"))
"""Length of the fixed part, number of the attribute, its form."""
_MOST = 1 << 18
_SHARE_OF_TIME = 10
_FEW = 8


class SocketMemory:
    """Asks no more often than takes a tenth of the time."""

    def __init__(self) -> None:
        self._kernel: _socket.socket | None = None
        self._due = 0.0
        self._held = 0

    def held(self) -> int:
        """Return the bytes that wait in sockets; 0 where the kernel does not tell."""
        began = time.monotonic()
        if began >= self._due:
            try:
                self._held = self._unix() + self._internet() if _are_many() else 0
            except OSError:
                self._held, self._kernel = 0, None
            self._due = began + _SHARE_OF_TIME * (time.monotonic() - began)
        return self._held

    def _unix(self) -> int:
        received = sent = 0
        request = _ASK_UNIX.pack(_UNIX, 0, 0, _EVERY_STATE, 0, _QUEUES, _EVERY_STATE, _EVERY_STATE)
        for waiting, unread in self._answers(request, *_UNIX_ANSWER):
            received, sent = received + waiting, sent + unread
        return max(received, sent)  # the same bytes, seen from both ends, of which one may be closed

    def _internet(self) -> int:
        return sum(
            figures[0] + figures[5]
            for family in (_IPV4, _IPV6)
            for protocol in (_socket.IPPROTO_TCP, _socket.IPPROTO_UDP)
            for figures in self._answers(
                _ASK_INTERNET.pack(family, protocol, _MEMORY, 0, _EVERY_STATE, b""), *_INTERNET_ANSWER
            )
        )

    def _answers(self, request: bytes, fixed: int, number: int, form: Struct) -> Iterator[tuple[int, ...]]:
        if self._kernel is None:
            self._kernel = _socket.socket(_NETLINK, _socket.SOCK_RAW, _SOCK_DIAG)
            self._kernel.settimeout(1.0)
        self._kernel.send(_HEAD.pack(_HEAD.size + len(request), _BY_FAMILY, _DUMP, 0, 0) + request)
        while True:
            data = memoryview(self._kernel.recv(_MOST))
            while len(data) >= _HEAD.size:
                length, kind, *_ = _HEAD.unpack_from(data)
                if kind in (_ERROR, _DONE) or length < _HEAD.size:
                    return
                yield from _attribute(data[_HEAD.size + fixed : length], number, form)
                data = data[(length + 3) & ~3 :]


def _are_many() -> bool:
    """Return whether there are sockets enough to hold much; one can hold some megabytes."""
    with open("/proc/net/sockstat", encoding="ascii") as file:
        return int(file.readline().split()[-1]) > _FEW


def _attribute(data: memoryview, number: int, form: Struct) -> Iterator[tuple[int, ...]]:
    while len(data) >= _ATTRIBUTE.size:
        length, found = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            return
        if found == number and length >= _ATTRIBUTE.size + form.size:
            yield form.unpack_from(data, _ATTRIBUTE.size)
        data = data[(length + 3) & ~3 :]
