"""Both ends of what a command printed."""

from __future__ import annotations

from collections import deque


class KeptOutput:
    def __init__(self, limit: int) -> None:
        self._head_room = limit // 2
        self._tail_room = limit - limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._seen = 0

    def add(self, chunk: bytes) -> None:
        self._seen += len(chunk)
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail.append(chunk)
            self._tail_size += len(chunk)
        while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_room:
            self._tail_size -= len(self._tail.popleft())

    def text(self) -> str:
        tail = b"".join(self._tail)[-self._tail_room :] if self._tail_room else b""
        left_out = self._seen - len(self._head) - len(tail)
        if left_out == 0:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        head_text, tail_text = bytes(self._head).decode("utf-8", "ignore"), tail.decode("utf-8", "ignore")
        return f"{head_text}\n[… {left_out} bytes left out …]\n{tail_text}"
