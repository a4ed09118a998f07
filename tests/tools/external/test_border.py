"""What a server sends, made fit for the client: odd parts left out or named, all else as it came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import pytest

from nebula.tools.external.border import MAX_SCHEMA, MAX_SCHEMAS, Border
from nebula.tools.external.process import MessageReader
from rows import each_row

ANY = {"type": "object"}


def fit(result: Any, border: Border | None = None) -> Any:
    message = SimpleNamespace(result=deepcopy(result))
    (border or Border()).make_fit(message)
    return message.result


def sized(size: int) -> dict[str, Any]:
    """A schema of so many bytes as JSON."""
    return {"x": "é" * ((size - len('{"x": ""}')) // 6) + "y" * ((size - len('{"x": ""}')) % 6)}


def offered(*schemas: Any) -> tuple[list[str], list[str]]:
    border = Border()
    tools = [{"name": f"t{number}", "inputSchema": schema} for number, schema in enumerate(schemas)]
    return [tool["name"] for tool in fit({"tools": tools}, border)["tools"]], border.left_out


def test_tools_that_are_none_are_left_out_and_named() -> None:
    border = Border()
    good = {"name": "good", "inputSchema": ANY}
    found = fit({"tools": [good, {"name": "bare"}, "x", 3, None, {"name": 3, "inputSchema": ANY}]}, border)
    assert found["tools"] == [good]
    assert border.left_out == ["bare", "?", "?", "?", "?"]


def test_a_tool_that_would_cost_the_whole_list_is_left_out() -> None:
    """The client reads a list as one, by the words of the protocol: there a schema is that of an object."""
    border = Border()
    odd = [
        {"name": "text", "inputSchema": {"type": "string"}},
        {"name": "answer", "inputSchema": ANY, "outputSchema": {"type": "string"}},
        {"name": "icons", "inputSchema": ANY, "icons": "x"},
    ]
    found = fit({"tools": [*odd, {"name": "silent", "inputSchema": {}}]}, border)
    assert found["tools"] == [{"name": "silent", "inputSchema": ANY}]
    assert border.left_out == ["text", "answer", "icons"]


async def test_an_answer_that_is_none_of_the_protocol_is_an_error_and_no_halt() -> None:
    lines = asyncio.StreamReader()
    for line in (
        b'{"jsonrpc":"2.0","id":1,"result":"bare"}',
        b'{"jsonrpc":"2.0","id":2,"error":"bare"}',
        b'{"jsonrpc":"2.0","id":3,"result":{"text":"a\\ud800b"}}',
        b'{"jsonrpc":"2.0","id":4,"result":{"text":"\xe9"}}',
        b'{"jsonrpc":"2.0","id":5,"method":7}',
        b'{"id":6,"result":' + b"[" * 5_000,
        b'{"jsonrpc":"2.0","id":"7","result":{}}',
    ):
        lines.feed_data(line + b"\n")
    lines.feed_eof()
    found = [each async for each in MessageReader(lines, lambda: None)]
    assert [isinstance(each, ValueError) for each in found] == [False, False, False, False, True, True, False]
    said = [each.message for each in found if not isinstance(each, ValueError)]
    assert [each.id for each in said] == [1, 2, 3, 4, "7"]
    assert [each.error.message for each in said[:2]] == ["what it answered is not part of the protocol"] * 2
    assert [each.result for each in said[2:]] == [{"text": "a?b"}, {"text": "\ufffd"}, {}]


def test_a_schema_has_a_limit() -> None:
    assert offered(ANY, sized(MAX_SCHEMA)) == (["t0", "t1"], [])
    assert offered(sized(MAX_SCHEMA + 1), ANY) == (["t1"], ["t0"])


def test_all_schemas_together_have_one() -> None:
    most = MAX_SCHEMAS // MAX_SCHEMA
    schemas = [sized(MAX_SCHEMA)] * most
    assert most * MAX_SCHEMA == MAX_SCHEMAS and offered(*schemas)[1] == []
    assert offered(*schemas, ANY)[1] == [f"t{most}"]
    assert offered(*schemas[1:], sized(MAX_SCHEMA - 30), ANY)[1] == [], "what is left out takes no room"


TEXT = {"type": "text", "text": "well"}


@each_row(
    ("result", "content"),
    [
        ({"content": [TEXT, TEXT]}, [TEXT, TEXT]),
        ({"content": "bare"}, [{"type": "text", "text": "bare"}]),
        ({"content": {"n": 1}}, [{"type": "text", "text": "(a block of no kind: not shown)"}]),
        ({"content": None}, []),
        ({"structuredContent": {"n": 1}}, []),
        ({"content": [{"type": "hologram"}, TEXT]}, [{"type": "text", "text": "(hologram: not shown)"}, TEXT]),
        ({"content": [{"type": "note", "text": "of a kind"}]}, [{"type": "text", "text": "of a kind"}]),
        ({"content": [[1, 2]]}, [{"type": "text", "text": "[1, 2]"}]),
        ({"content": ["said"]}, [{"type": "text", "text": "said"}]),
    ],
)
def test_blocks_that_are_none_become_text(result: Any, content: list[Any]) -> None:
    assert fit(result) == {**result, "content": content}


@each_row("result", [{}, {"tools": "many"}, {"protocolVersion": "1"}, None, [1]])
def test_other_answers_are_left_alone(result: Any) -> None:
    before = dict(result) if isinstance(result, dict) else result
    assert fit(result) == before


class Incoming:
    def __init__(self, *items: Any) -> None:
        self.items = list(items)
        self.closed = False

    async def __anext__(self) -> Any:
        if not self.items:
            raise StopAsyncIteration
        return self.items.pop(0)

    async def aclose(self) -> None:
        self.closed = True

    async def __aenter__(self) -> Incoming:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.closed = True


def test_blocks_of_the_protocol_stay_as_they_came() -> None:
    blocks = [
        {"type": "text", "text": "well", "annotations": {"priority": 1.0}},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "resource_link", "name": "n", "uri": "file:///n"},
    ]
    assert fit({"content": [*blocks, {"type": "hologram"}]})["content"] == [
        *blocks,
        {"type": "text", "text": "(hologram: not shown)"},
    ]


def test_a_stream_that_is_left_has_ended() -> None:
    incoming, border = Incoming(), Border()

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        yield incoming, "outgoing"

    async def leave() -> None:
        async with border.guard(transport(), keep_problems=False) as (stream, _), stream:
            assert not border.ended

    asyncio.run(leave())
    assert border.ended is True and incoming.closed and border.overrun is False
    border.note_overrun()
    assert border.overrun is True


@pytest.mark.parametrize("keep", [True, False])
def test_a_stream_hands_on_messages_and_notices_its_end(keep: bool) -> None:
    problem, message = ValueError("no JSON"), SimpleNamespace(message=SimpleNamespace(result={"content": "bare"}))
    incoming, border = Incoming(problem, message), Border()

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        yield incoming, "outgoing"

    async def read() -> list[Any]:
        async with border.guard(transport(), keep_problems=keep) as (stream, outgoing):
            assert outgoing == "outgoing" and not border.ended and stream.last_context is None
            async with stream:
                found = [each async for each in stream]
                assert border.ended
            return found

    found = asyncio.run(read())
    assert found == ([problem, message] if keep else [message]) and incoming.closed
    assert message.message.result["content"] == [{"type": "text", "text": "bare"}]
