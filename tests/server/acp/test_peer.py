"""What an editor may send line by line, and that nothing of it ends the process."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from nebula.server.acp.peer import CANCELLED, INVALID_REQUEST, PARSE_ERROR, Peer
from rows import each_row

LIMIT = 4096


async def answers_to(*lines: bytes) -> list[dict[str, Any]]:
    """Return what a peer that knows `echo` answers to these lines."""
    sent: list[bytes] = []

    async def echo(params: Any) -> Any:
        return dict(params)

    peer = Peer(sent.append, {"echo": echo})
    reader = asyncio.StreamReader(limit=LIMIT)
    for line in lines:
        reader.feed_data(line + b"\n")
    reader.feed_eof()
    await peer.read(reader)
    await peer.finish()

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in sent]


PROBE = b'{"jsonrpc":"2.0","id":7,"method":"echo","params":{"a":1}}'
ALIVE = {"jsonrpc": "2.0", "id": 7, "result": {"a": 1}}


@each_row(
    ("line", "code"),
    [
        (b"[" * 4000, PARSE_ERROR),
        (b'{"id":1,"method":"echo","params":' + b"[" * 3000, PARSE_ERROR),
        (b'{"id":1,"method":"echo","params":{"a":NaN}}', PARSE_ERROR),
        (b"x" * (3 * LIMIT), PARSE_ERROR),
        (b'{"id":1e400,"method":"echo"}', INVALID_REQUEST),
        (b'{"id":[1],"method":"echo"}', INVALID_REQUEST),
        (b'{"id":true,"method":"echo"}', INVALID_REQUEST),
    ],
)
async def test_a_line_that_is_no_message_is_answered_once_and_the_next_is_heard(line: bytes, code: int) -> None:
    refused, alive = sorted(await answers_to(line, PROBE), key=lambda each: "result" in each)
    assert refused["error"]["code"] == code and refused["id"] is None
    assert alive == ALIVE


async def test_a_number_too_large_for_json_is_not_echoed() -> None:
    (answer,) = await answers_to(b'{"id":3,"method":"echo","params":{"a":1e400}}')
    assert answer["id"] == 3 and "error" in answer


async def test_a_lone_surrogate_goes_back_as_it_came() -> None:
    (answer,) = await answers_to(b'{"id":"\\ud800","method":"echo","params":{"a":"\\udfff"}}')
    assert answer["id"] == "\ud800" and answer["result"] == {"a": "\udfff"}


async def test_a_request_is_given_up_and_answered_so() -> None:
    sent: list[bytes] = []
    began = asyncio.Event()

    async def wait(_: Any) -> None:
        began.set()
        await asyncio.Event().wait()

    peer = Peer(sent.append, {"wait": wait})
    reader = asyncio.StreamReader(limit=LIMIT)
    reading = asyncio.create_task(peer.read(reader))
    reader.feed_data(b'{"id":"a","method":"wait"}\n')
    await began.wait()
    for params in (b'{"requestId":"b"}', b'{"requestId":["a"]}', b"[]", b'{"requestId":"a"}', b'{"requestId":"a"}'):
        reader.feed_data(b'{"method":"$/cancel_request","params":' + params + b"}\n")
    reader.feed_eof()
    await reading
    await peer.finish()
    (answer,) = map(json.loads, sent)
    assert answer["id"] == "a" and answer["error"]["code"] == CANCELLED


async def test_a_line_without_an_end_is_still_read() -> None:
    sent: list[bytes] = []
    reader = asyncio.StreamReader(limit=LIMIT)
    reader.feed_data(b"{")
    reader.feed_eof()
    peer = Peer(sent.append, {})
    await peer.read(reader)
    assert json.loads(sent[0])["error"]["code"] == PARSE_ERROR
