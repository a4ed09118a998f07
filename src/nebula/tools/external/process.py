"""An MCP server that is a process: one message a line, on its standard input and output.

The official client can start one, too, but it keeps a line until it ends, and a server need not end it. Here a line has
a limit, and a server that exceeds it is ended at once. The methods of the streams are those that the client calls.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from asyncio.subprocess import PIPE, SubprocessStreamProtocol
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from nebula.tools.external.configured import ExternalServer

MAX_MESSAGE = 32 * 1024 * 1024
"""Bytes of one message of a server. A result is cut to far less, and an image has at most 10 MB."""
GRACE_S = 2.0
"""How long a server may take to end once its input has ended, and again after the signal."""
LOOK_EVERY_S = 0.01
KEPT_BYTES = 16_384
READ_BYTES = 65_536
LAST_WORDS_S = 2.0
_NOT_OF_THE_PROTOCOL = -32600


@asynccontextmanager
async def started(
    server: ExternalServer, errors: IO[str], on_overrun: Callable[[], None]
) -> AsyncIterator[tuple[MessageReader, MessageWriter]]:
    """Start the server and yield the stream from it and the stream to it; afterwards the server is ended. `on_overrun`
    is called for a message beyond the limit. Raises OSError."""
    from mcp.client.stdio import get_default_environment

    loop = asyncio.get_running_loop()
    transport, streams = await loop.subprocess_exec(
        lambda: SubprocessStreamProtocol(limit=MAX_MESSAGE, loop=loop),
        server.command,
        *server.args,
        stdin=PIPE,
        stdout=PIPE,
        stderr=errors,
        env=get_default_environment() | dict(server.env),
        cwd=server.cwd or None,
        start_new_session=True,
    )

    def end_now() -> None:
        on_overrun()
        _signal_all(transport, signal.SIGKILL)

    assert streams.stdin is not None and streams.stdout is not None  # noqa: S101 - both are pipes
    try:
        yield MessageReader(streams.stdout, end_now), MessageWriter(streams.stdin)
    finally:
        try:
            await _end(transport, streams.stdin, streams.stdout)
        finally:
            _signal_all(transport, signal.SIGKILL)
            transport.close()  # also where a child of the server still holds the other ends


class MessageReader:
    """The messages of a server, in order; a line that is not a message is passed on as an error."""

    def __init__(self, lines: asyncio.StreamReader, end_now: Callable[[], None]) -> None:
        self._lines = lines
        self._end_now = end_now

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        from mcp.shared.message import SessionMessage

        try:
            line = await self._lines.readuntil(b"\n")
        except asyncio.LimitOverrunError as problem:
            self._end_now()
            await self._lines.readexactly(problem.consumed)  # nobody needs it any more, and it is large
            raise StopAsyncIteration from None
        except (asyncio.IncompleteReadError, ConnectionError):
            raise StopAsyncIteration from None
        try:
            return SessionMessage(_read_message(line))
        except ValueError as problem:
            return problem

    receive = __anext__

    async def aclose(self) -> None:
        return

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return


def _read_message(line: bytes) -> Any:
    """Return the message on a line, with halves of characters replaced. An answer that is none of the protocol becomes
    an error: it would be waited for in vain. Raises ValueError for any other line."""
    from mcp_types import jsonrpc_message_adapter as messages

    try:
        return messages.validate_json(line, by_name=False)
    except ValueError:
        try:
            said = json.loads(line.decode("utf-8", "replace"))
        except RecursionError:
            raise ValueError("nested too deep") from None
        if not isinstance(said, dict) or "id" not in said or "method" in said:
            raise
    try:
        return messages.validate_json(json.dumps(said, ensure_ascii=False).encode("utf-8", "replace"))
    except ValueError:
        error = {"code": _NOT_OF_THE_PROTOCOL, "message": "what it answered is not part of the protocol"}
        return messages.validate_python({"jsonrpc": "2.0", "id": said["id"], "error": error})


class MessageWriter:
    """Sends messages to a server."""

    def __init__(self, pipe: asyncio.StreamWriter) -> None:
        self._pipe = pipe

    async def send(self, item: Any, /) -> None:
        """Send a message. Raises anyio.BrokenResourceError where the server no longer reads."""
        import anyio

        said = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            self._pipe.write(said.encode() + b"\n")
            await self._pipe.drain()
        except (OSError, RuntimeError):
            raise anyio.BrokenResourceError from None

    async def aclose(self) -> None:
        self._pipe.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class LastWords:
    """A pipe for a server's standard error: it takes any amount and keeps the end, to explain a failure. A file would
    grow without limit."""

    def __enter__(self) -> Self:
        reading, writing = os.pipe()
        self.file: IO[str] = os.fdopen(writing, "w", encoding="utf-8", errors="replace")
        self._end = b""
        self._thread = threading.Thread(target=self._read, args=(reading,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._hang_up()

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as source:
            while piece := source.read(READ_BYTES):
                self._end = (self._end + piece)[-KEPT_BYTES:]

    def last_line(self) -> str:
        """Return the last line that is not empty, once the server has ended."""
        self._hang_up()
        self._thread.join(LAST_WORDS_S)  # a child of the server may hold the pipe open
        lines = [line.strip() for line in self._end.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.file.close()


async def _end(transport: asyncio.SubprocessTransport, pipe: asyncio.StreamWriter, lines: asyncio.StreamReader) -> None:
    """End the server: first close its input, then send a signal."""
    pipe.close()
    # A server that is stuck in writing would never read that its input has ended.
    reading_on = asyncio.ensure_future(_drain(lines))
    try:
        if not await _has_ended(transport):
            _signal_all(transport, signal.SIGTERM)
            await _has_ended(transport)
    finally:
        reading_on.cancel()


async def _drain(lines: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        while await lines.read(READ_BYTES):
            pass


async def _has_ended(transport: asyncio.SubprocessTransport) -> bool:
    """Return whether the process ends in time. A child of it may hold its output open, so the end of that is not waited
    for."""
    with suppress(TimeoutError):
        async with asyncio.timeout(GRACE_S):
            while transport.get_returncode() is None:  # noqa: ASYNC110 - only the end of the output could be awaited
                await asyncio.sleep(LOOK_EVERY_S)
    return transport.get_returncode() is not None


def _signal_all(transport: asyncio.SubprocessTransport, number: signal.Signals) -> None:
    """Send a signal to the server, unless it has ended, and to its children, which are a process group."""
    if transport.get_returncode() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(transport.get_pid(), number)
