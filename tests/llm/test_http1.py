"""Responses read by us and by h11, whose reading of the standard is trusted: the same, however they arrive."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nebula.llm.http.http1 import MAX_FRAMING_BYTES, CutOff, NotHttp, ResponseReader, write_head
from rows import each_row


@dataclass(frozen=True)
class Read:
    """What a reader makes of a response."""

    status: int
    headers: dict[str, str]
    body: bytes
    end: str
    """`open`: another request may follow; `closed`; `cut off`; `not http`; `waiting`: for more."""


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(marks)]


def read_by_us(pieces: list[bytes], ends: bool) -> Read:
    reader, body = ResponseReader(), bytearray()
    try:
        for piece in (*pieces, *[b""] * ends):
            reader.feed(piece)
            while reader.read_head() and (read := reader.read_body()):
                body += read
    except NotHttp:
        return Read(reader.status, reader.headers, bytes(body), "not http")
    except CutOff:
        return Read(reader.status, reader.headers, bytes(body), "cut off")
    end = "waiting" if not reader.is_finished else "open" if reader.leaves_open else "closed"
    return Read(reader.status, reader.headers, bytes(body), end)


def read_by_h11(pieces: list[bytes], ends: bool) -> Read:
    parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_FRAMING_BYTES)
    parser.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    parser.send(h11.EndOfMessage())
    status, headers, body, finished = 0, dict[str, str](), bytearray(), False
    try:
        for piece in (*pieces, *[b""] * ends):
            parser.receive_data(piece)
            while not finished:
                event = parser.next_event()
                if event is h11.NEED_DATA:
                    break
                if event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
                    raise h11.RemoteProtocolError("closed connection")
                if isinstance(event, h11.Response):
                    status = event.status_code
                    headers = {name.decode(): said.decode("latin-1") for name, said in event.headers}
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    finished = True
    except h11.RemoteProtocolError as problem:
        is_cut = any(words in str(problem) for words in ("closed connection", "without sending", "connection closed"))
        return Read(status, headers, bytes(body), "cut off" if is_cut else "not http")
    stays = parser.their_state is h11.DONE and parser.our_state is h11.DONE and parser.trailing_data == (b"", False)
    return Read(status, headers, bytes(body), "waiting" if not finished else "open" if stays else "closed")


line_ends = st.sampled_from([b"\r\n", b"\r\n", b"\n"])
bodies = st.lists(st.binary(min_size=1, max_size=30), max_size=4)
further_headers = st.lists(
    st.sampled_from(
        [b"Content-Type: text/event-stream", b"Vary: Origin", b"x-request-id:1 2 ", b"Connection: Upgrade, Close"]
    ),
    unique=True,
)


@st.composite
def responses(draw: st.DrawFn) -> bytes:
    end = draw(line_ends)
    chunks = draw(bodies)
    status = draw(
        st.sampled_from([b"200 OK", b"200", b"204 No Content", b"304 Not Modified", b"404 Not Found", b"503 "])
    )
    lines = [draw(st.sampled_from([b"HTTP/1.1 ", b"HTTP/1.1 ", b"HTTP/1.0 "])) + status, *draw(further_headers)]
    framing = draw(st.sampled_from(["length", "chunks", "close"]))
    body = b"".join(chunks)
    if framing == "length":
        lines.append(b"Content-Length: " + str(len(body)).encode())
    if framing == "chunks":
        lines.append(b"Transfer-Encoding: chunked")
        extension = draw(st.sampled_from([b"", b";a=b", b" "]))
        trailer = draw(st.sampled_from([b"", b"X-Sum: 1\r\n"]))
        body = b"".join(b"%x%s\r\n%s\r\n" % (len(each), extension, each) for each in chunks)
        body += b"0\r\n" + trailer + b"\r\n"
    before = draw(
        st.sampled_from([b"", b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n"])
    )
    return before + end.join(lines) + end + end + (b"" if status[:3] in (b"204", b"304") else body)


@given(responses(), st.lists(st.integers(0, 2000), max_size=8), st.booleans())
@example(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", [47, 48, 49, 50, 51, 52], False)
def test_a_response_is_read_as_h11_reads_it(response: bytes, places: list[int], ends: bool) -> None:
    pieces = cut(response, places)
    assert read_by_us(pieces, ends) == read_by_h11(pieces, ends)


@given(responses(), st.lists(st.integers(0, 2000), max_size=4), st.integers(0, 2000))
def test_a_response_that_is_cut_off_is_cut_off_for_both(response: bytes, places: list[int], length: int) -> None:
    pieces = cut(response[: length % (len(response) + 1)], places)
    ours, theirs = read_by_us(pieces, True), read_by_h11(pieces, True)
    assert (ours.body, ours.end == "open", ours.end == "closed") == (
        theirs.body,
        theirs.end == "open",
        theirs.end == "closed",
    )


@given(responses(), st.integers(0, 2000), st.binary(min_size=1, max_size=3), st.booleans())
def test_what_h11_refuses_is_never_a_finished_answer(response: bytes, place: int, noise: bytes, ends: bool) -> None:
    """It may be refused sooner or later, but a broken frame is not read as a whole body."""
    place %= len(response)
    broken = response[:place] + noise + response[place + len(noise) :]
    ours, theirs = read_by_us([broken], ends), read_by_h11([broken], ends)
    if theirs.end in ("not http", "cut off") and theirs.status:
        assert ours.end in ("not http", "cut off", "waiting") or ours.body == theirs.body
    if theirs.end in ("open", "closed") and ours.end in ("open", "closed"):
        assert ours.body == theirs.body


@each_row(
    "response",
    [
        b"\x15\x03\x01\x00\x02",  # a server that speaks TLS
        b"SSH-2.0-x\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 17 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nfolded: a\r\n  b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * MAX_FRAMING_BYTES,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 4000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1" + b";" * 2 * MAX_FRAMING_BYTES,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"x" * 2 * MAX_FRAMING_BYTES,
    ],
)
def test_what_is_not_http_is_refused(response: bytes) -> None:
    assert read_by_us(cut(response, list(range(0, len(response), 4096))), False).end == "not http"


def test_what_came_before_a_fault_is_given_first() -> None:
    reader = ResponseReader()
    reader.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX5\r\n")
    assert reader.read_head()
    assert reader.read_body() == b"hello"
    for _ in range(2):
        with pytest.raises(NotHttp):
            reader.read_body()


def test_a_connection_with_more_on_it_than_the_answer_is_not_used_again() -> None:
    read = read_by_us([b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n"], False)
    assert (read.body, read.end) == (b"ok", "closed")


def test_a_head_is_written_as_it_stands_and_never_with_a_line_of_somebody_elses() -> None:
    assert (
        write_head("GET", "/v1?a=b", [("Host", "x:1"), ("X", "")])
        == b"GET /v1?a=b HTTP/1.1\r\nHost: x:1\r\nX: \r\n\r\n"
    )
    for said in ("key\r\nb: c", "key\nb", "key\0", " key", "key ", "kéy"):
        with pytest.raises(NotHttp) as problem:
            write_head("GET", "/", [("Authorization", said)])
        assert said.strip() not in str(problem.value)
    for method, target, name in (
        ("GE T", "/", "a"),
        ("GET", "/ x", "a"),
        ("GET", "", "a"),
        ("GET", "/", "a:"),
        ("GET", "/", ""),
    ):
        with pytest.raises(NotHttp):
            write_head(method, target, [(name, "x")])
