"""The bytes of HTTP/1.1 as a client sees them: the head of a request as it is sent, a response as it arrives.

Nothing is sent or received here. Responses are read by httptools, which is llhttp: a parser in Python (h11) was a
quarter of what a turn costs us besides its files, since it makes an object of every chunk and a server sends one for
every few letters, and it took four times as long to load. `tests/llm/test_http1.py` holds the two side by side. It is
loaded with the first reader, which is made when the request is on its way: nothing waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_FRAMING_BYTES = 64 * 1024
"""More than this without a byte of a body is no head, and no frame of a chunk."""
_WITHOUT_BODY = (204, 304)
_NAME = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class NotHttp(Exception):
    """Raised where what is to be sent, or what has arrived, is not HTTP/1.1; the message says where."""


class CutOff(Exception):
    """The connection ended in the middle of a response."""


def write_head(method: str, target: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """Return the head of a request. Raises NotHttp, without a word of a header's value: that may be a key."""
    if not (_is_name(method) and _is_visible(target) and " " not in target and target):
        raise NotHttp("illegal request line")
    lines = [f"{method} {target} HTTP/1.1"]
    for name, said in headers:
        if not (_is_name(name) and _is_visible(said) and said == said.strip()):
            raise NotHttp(f"illegal header {name!r}")
        lines.append(f"{name}: {said}")
    return "\r\n".join((*lines, "\r\n")).encode("ascii")


class ResponseReader:
    """One response, from the bytes that were fed to it: first its head, then its body without what frames it."""

    def __init__(self) -> None:
        from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

        self.status = 0
        self.headers: dict[str, str] = {}
        self.is_finished = False
        """All of the body has been read."""
        self._parser, self._faults = HttpResponseParser(self), (HttpParserError, HttpParserUpgrade)
        # As plain servers write: no harm to a client that sends nothing before the whole answer is there.
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True)
        self._lines: dict[str, str] = {}
        self._pieces: list[bytes] = []
        self._framing_bytes = 0
        self._is_whole = False
        self._keeps_open = False
        self._has_ended = False
        self._problem: NotHttp | None = None

    @property
    def leaves_open(self) -> bool:
        """Tell whether another request may follow on the same connection."""
        return self.is_finished and self._keeps_open and not self._has_ended

    def feed(self, data: bytes) -> None:
        """Take in what has arrived; an empty piece means that the connection has ended."""
        if not data:
            self._has_ended = True
            framed = self.status in _WITHOUT_BODY or {"content-length", "transfer-encoding"} & self.headers.keys()
            self._is_whole |= bool(self.status and not framed)
            return
        self._framing_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except self._faults as error:
            self._refuse(str(error))
        if self._framing_bytes > MAX_FRAMING_BYTES:
            self._refuse("a head or a chunk without end")

    def read_head(self) -> bool:
        """Return whether the head is whole, and `status` and `headers` are known. Raises NotHttp, CutOff."""
        if not self.status:
            self._raise_what_is_wrong()
        return bool(self.status)

    def read_body(self) -> bytes:
        """Return what of the body is at hand, and nothing where more must be fed. Raises NotHttp, CutOff.

        What came before a fault is returned first, and the fault raised when more is asked for.
        """
        body = b"".join(self._pieces)
        self._pieces.clear()
        if not body:
            self._raise_what_is_wrong()
        self.is_finished = self._is_whole
        return body

    def _raise_what_is_wrong(self) -> None:
        if self._problem is not None:
            raise self._problem
        if self._has_ended and not self._is_whole:
            raise CutOff

    def _refuse(self, reason: str) -> None:
        if self._is_whole:
            self._keeps_open = False  # more has come than was asked for; the answer stands
        elif self._problem is None:
            self._problem = NotHttp(reason)

    # What the parser calls. It goes on with a next response where there is one; of that nothing is taken.

    def on_message_begin(self) -> None:
        self._keeps_open = False

    def on_header(self, name: bytes, said: bytes) -> None:
        if self.status:
            return  # behind the body, where nobody asked for it
        known, key = self._lines, name.decode("latin-1").lower()
        value = said.decode("latin-1").strip(" \t")
        known[key] = f"{known[key]}, {value}" if key == "transfer-encoding" and key in known else value

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self.status:
            return
        headers, self._lines = self._lines, {}
        if status < 200:  # said before the response itself
            if status == 101:
                self._refuse("another protocol, which was not asked for")
            return
        if headers.get("transfer-encoding", "chunked").lower() != "chunked":
            self._refuse("a transfer encoding that was not asked for")
            return
        self.status, self.headers, self._framing_bytes = status, headers, 0

    def on_body(self, piece: bytes) -> None:
        if not self._is_whole:
            self._pieces.append(piece)
            self._framing_bytes = 0

    def on_message_complete(self) -> None:
        if self.status and not self._is_whole:
            self._is_whole, self._keeps_open = True, self._parser.should_keep_alive()


def _is_name(text: str) -> bool:
    return bool(text) and not text.strip(_NAME)


def _is_visible(text: str) -> bool:
    return text.isascii() and text.isprintable()
