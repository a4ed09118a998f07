"""Lines and server-sent events out of a body that arrives in arbitrary pieces.

Lines are cut as bytes and decoded whole, so a character split over two pieces is never broken: no byte of a
multibyte UTF-8 character looks like a line end.
"""

from __future__ import annotations

from nebula.llm.errors import BadReplyError

MAX_LINE_BYTES = 32 * 1024 * 1024
BOM = b"\xef\xbb\xbf"


class LineSplitter:
    """Cuts bytes into lines at LF, CRLF and (where `lone_cr`) CR, keeping the unfinished line for later."""

    def __init__(self, *, lone_cr: bool = False) -> None:
        self._lone_cr = lone_cr
        self._rest = bytearray()
        self._scanned = 0
        self._at_start = True
        self._skip_lf = False

    def feed(self, data: bytes) -> list[bytes]:
        if self._lone_cr and (b"\r" in data or self._skip_lf):
            data = self._unify(data)
        self._rest += data
        if self._at_start:
            if len(self._rest) < len(BOM) and BOM.startswith(self._rest):
                return []
            if self._rest.startswith(BOM):
                del self._rest[: len(BOM)]
            self._at_start = False
        last = self._rest.rfind(b"\n", self._scanned)
        if last < 0:
            self._scanned = len(self._rest)
            if self._scanned > MAX_LINE_BYTES:
                raise BadReplyError("The model server sent a line without end; it does not speak the expected API.")
            return []
        whole = bytes(self._rest[:last])
        del self._rest[: last + 1]
        self._scanned = len(self._rest)
        return [line.removesuffix(b"\r") for line in whole.split(b"\n")]

    def flush(self) -> list[bytes]:
        """Return the unfinished last line, if any."""
        line = bytes(self._rest).removesuffix(b"\r")
        self._rest.clear()
        self._scanned = 0
        return [line] if line else []

    def _unify(self, data: bytes) -> bytes:
        # A CR at the end of a piece ends the line at once; the LF that may follow it belongs to the same line end.
        if self._skip_lf and data.startswith(b"\n"):
            data = data[1:]
            self._skip_lf = False
        if data:
            self._skip_lf = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class SseParser:
    """The data of each server-sent event. An event that the end of the stream cut off is not given."""

    def __init__(self) -> None:
        self._lines = LineSplitter(lone_cr=True)
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[str]:
        events: list[str] = []
        for line in self._lines.feed(piece):
            if not line:
                if self._data:
                    events.append(b"\n".join(self._data).decode("utf-8", "replace"))
                    self._data.clear()
            elif line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        return events

    def flush(self) -> list[str]:
        return []


class NdjsonParser:
    """The lines of newline-delimited JSON. At the end, `flush` gives a last one that lacks its line end."""

    def __init__(self) -> None:
        self._lines = LineSplitter()

    def feed(self, piece: bytes) -> list[str]:
        return _texts(self._lines.feed(piece))

    def flush(self) -> list[str]:
        return _texts(self._lines.flush())


class WholeParser:
    """One text, given at the end: for servers that answer a request for a stream with a single object."""

    def __init__(self) -> None:
        self._body = bytearray()

    def feed(self, piece: bytes) -> list[str]:
        self._body += piece
        if len(self._body) > MAX_LINE_BYTES:
            raise BadReplyError("The model server sent an answer without end.")
        return []

    def flush(self) -> list[str]:
        return _texts([bytes(self._body)])


class EitherParser:
    """Server-sent events, or one text: whichever the body turns out to be, for servers that name the wrong type."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._parser: SseParser | WholeParser | None = None

    def feed(self, piece: bytes) -> list[str]:
        if self._parser is None:
            self._begun += piece
            start = bytes(self._begun[:64]).removeprefix(BOM).lstrip()
            if not start and len(self._begun) < MAX_LINE_BYTES:
                return []
            self._parser = WholeParser() if start[:1] in (b"{", b"[") else SseParser()
            piece = bytes(self._begun)
        return self._parser.feed(piece)

    def flush(self) -> list[str]:
        return self._parser.flush() if self._parser is not None else []


Parser = SseParser | NdjsonParser | WholeParser | EitherParser


def _texts(lines: list[bytes]) -> list[str]:
    return [line.decode("utf-8", "replace") for line in lines if line.strip()]
