"""A connection to one MCP server through the official client, in a task of its own from start to end.

The client has to be closed by the task that opened it; calls may come from any task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from nebula.errors import NebulaError
from nebula.language import Sentence, sentence_of
from nebula.tools.external.border import Border
from nebula.tools.external.process import MAX_MESSAGE, LastWords, started
from nebula.tools.external.resources import READ_RESOURCE, has_resources, read_pages, read_resource, resource_tool
from nebula.tools.external.sign_in import SignInNeeded, first_of, signed_in

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp.shared.dispatcher import ProgressFnT
    from mcp.types import CallToolResult, GetPromptResult, Prompt, Tool

    from nebula.tools.external.configured import ExternalServer

END_TIMEOUT_S = 30.0
MAX_TOOLS = 200
MAX_PROMPTS = 100
MAX_REASON = 200
_PLAIN = {"accept-encoding": "identity"}
"""The encoding that the client accepts: the size of a packed answer is not known before it is unpacked."""
_UNAUTHORIZED, _FAILED = 401, 400
for _log in ("mcp", "client"):
    logging.getLogger(_log).addHandler(logging.NullHandler())
"""We report a server's errors in a sentence; the logs of the official client would print tracebacks."""


T = TypeVar("T")


class ServerFailed(NebulaError):
    """Raised where an MCP server could not be started, reached or understood."""


class ServerConnection:
    def __init__(self, server: ExternalServer) -> None:
        self.server = server
        self.tools: tuple[Tool, ...] = ()
        """The server's tools, and one for its resources if it has any."""
        self.prompts: tuple[Prompt, ...] = ()
        self.problem = ""
        """Why the last start failed."""
        self._own_tools: tuple[Tool, ...] = ()
        self.left_out: tuple[str, ...] = ()
        """Names of tools that cannot be offered, because of how the server describes them."""
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._border = Border()
        self._opening = asyncio.Lock()
        self._status = 0
        """The status of the last answer, of a server with an address."""

    @property
    def is_open(self) -> bool:
        return self._client is not None and not self._border.ended and self._task is not None and not self._task.done()

    async def open(self) -> None:
        """Start the server, also one that has ended; do nothing where it is running. Raises ServerFailed."""
        async with self._opening:
            if not self.is_open:
                await self.close()
                self.problem = ""
                try:
                    await self._start()
                except ServerFailed as failed:
                    self.problem = str(failed.values["reason"])
                    raise

    async def _start(self) -> None:
        await asyncio.to_thread(import_module, "mcp")  # takes seconds on a busy machine, not the server
        self._stop, self._border, self._status = asyncio.Event(), Border(), 0
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(ready))
        try:
            await asyncio.wait_for(asyncio.shield(ready), self.server.timeout_s)
        except TimeoutError:
            await self.close()
            raise self.failed(self._too_late()) from None
        except asyncio.CancelledError:
            await self.close()
            raise

    async def call(self, tool: str, args: dict[str, Any], report: ProgressFnT | None = None) -> CallToolResult:
        """Return what the tool answers; `report` is called with its progress. Raises ServerFailed."""
        if tool == READ_RESOURCE and not self._has_own(READ_RESOURCE):
            return await self._ask(lambda client: read_resource(client, args))
        return await self._ask(lambda client: client.call_tool(tool, args, progress_callback=report))

    async def prompt(self, name: str, args: dict[str, str]) -> GetPromptResult:
        """Return the text of the server's prompt of that name. Raises ServerFailed."""
        return await self._ask(lambda client: client.get_prompt(name, args))

    def _has_own(self, name: str) -> bool:
        return any(each.name == name for each in self._own_tools)

    async def _ask(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Run `work` with the client and return its result. Raises ServerFailed whatever the server does wrong."""
        from mcp import MCPError

        await self.open()
        assert self._client is not None  # noqa: S101 - it was opened
        self._border.overrun = False
        try:
            async with asyncio.timeout(self.server.timeout_s):
                return await work(self._client)
        except TimeoutError:
            raise self.failed(self._too_late()) from None
        except MCPError as problem:
            if self._border.ended:
                ended = Sentence("it ended during the call, and is started again at the next one")
                raise self.failed(self._overrun() or ended) from None
            raise self.failed(self._overrun() or self._refusal() or problem.message) from None
        except Exception as problem:  # noqa: BLE001 - a stranger's answer, in any of the ways it can be wrong
            raise self.failed(self._overrun() or self._refusal() or _reason(problem)) from None

    def _too_late(self) -> Sentence:
        return Sentence("no answer within {seconds:g} s (its timeout_s in mcp_servers)", seconds=self.server.timeout_s)

    def _overrun(self) -> Sentence | None:
        """Return a sentence on a server whose message was too long."""
        if not self._border.overrun:
            return None
        much = MAX_MESSAGE >> 20
        if self.server.url:
            return Sentence("it sent a message of more than {megabytes} MB, which was not read", megabytes=much)
        return Sentence("it sent a message of more than {megabytes} MB and was ended", megabytes=much)

    def _note_answer(self, response: httpx2.Response) -> None:
        self._status = response.status_code
        _limit_body(response, MAX_MESSAGE, self._border.note_overrun)

    def _refusal(self) -> Sentence | None:
        """Return what the last status of a server with an address means, if it is a failure."""
        if self._status == _UNAUTHORIZED:
            return sentence_of(SignInNeeded(self.server.name))
        return Sentence("it answered with HTTP {status}", status=self._status) if self._status >= _FAILED else None

    async def close(self) -> None:
        self._stop.set()
        if self._task is not None and self._client is None:
            self._task.cancel()  # it waits for a message of the server, which may never come
        if self._task is not None:
            with suppress(asyncio.CancelledError, TimeoutError):
                await asyncio.wait_for(self._task, END_TIMEOUT_S)
        self._client = self._task = None

    async def _live(self, ready: asyncio.Future[None]) -> None:
        with LastWords() as said:
            try:
                from mcp import Client

                transport = self._border.guard(self._transport(said.file), keep_problems=bool(self.server.url))
                async with Client(transport) as client:
                    await self._learn_offers(client)
                    self.left_out = tuple(self._border.left_out)
                    self._client = client
                    ready.set_result(None)
                    await self._stop.wait()
            except Exception as problem:  # noqa: BLE001 - a stranger's server, in any of the ways it can fail
                if not ready.done():
                    last = await asyncio.to_thread(said.last_line)
                    ready.set_exception(self.failed(self._overrun() or last or self._refusal() or _reason(problem)))

    async def _learn_offers(self, client: Client) -> None:
        """Ask the server for its tools, resources and prompts."""
        offers = client.server_capabilities
        other = offers.resources is not None or offers.prompts is not None
        has_tools = offers.tools is not None or not other
        listed = await read_pages(client.list_tools, "tools", MAX_TOOLS) if has_tools else ()
        self._own_tools = tuple({each.name: each for each in listed[:MAX_TOOLS]}.values())
        reads = offers.resources is not None and not self._has_own(READ_RESOURCE) and await has_resources(client)
        self.tools = (*self._own_tools, resource_tool()) if reads else self._own_tools
        self.prompts = await _all_prompts(client) if offers.prompts is not None else ()

    def _transport(self, said: Any) -> AbstractAsyncContextManager[Any]:
        server = self.server
        if server.url:
            return _over_http(server, self._note_answer)
        return started(server, said, self._border.note_overrun)

    def failed(self, reason: str | Sentence) -> ServerFailed:
        short = reason[:MAX_REASON] if isinstance(reason, str) else reason
        return ServerFailed("The MCP server {name} cannot be used: {reason}", name=self.server.name, reason=short)


@asynccontextmanager
async def _over_http(server: ExternalServer, note: Callable[[httpx2.Response], None]) -> AsyncIterator[Any]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def look_at(response: httpx2.Response) -> None:
        note(response)

    headers = _PLAIN | dict(server.headers)
    auth, hooks = signed_in(server.home, server.url, server.name), {"response": [look_at]}
    async with (
        httpx2.AsyncClient(headers=headers, auth=auth, event_hooks=hooks) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        yield streams


def _limit_body(response: httpx2.Response, most: int, on_overrun: Callable[[], None]) -> None:
    """Make a response fail beyond `most` bytes, or where it is packed; `on_overrun` is called for the first. The client
    limits events, but not a plain body."""
    from httpx2 import AsyncByteStream, StreamError

    if not isinstance(response.stream, AsyncByteStream):
        return
    whole: AsyncByteStream = response.stream
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        return

    class LimitedBody(AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise StreamError("a packed answer, which was not asked for")
            size = 0
            async for piece in whole:
                size += len(piece)
                if size > most:
                    on_overrun()
                    raise StreamError(f"more than {most} bytes")
                yield piece

        async def aclose(self) -> None:
            await whole.aclose()

    response.stream = LimitedBody()


async def _all_prompts(client: Client) -> tuple[Prompt, ...]:
    try:
        return tuple((await client.list_prompts()).prompts[:MAX_PROMPTS])
    except Exception:  # noqa: BLE001 - a stranger's list, wrong in any way; the tools work without it
        return ()


def _reason(problem: BaseException) -> str | Sentence:
    """Return the first line of the first exception in a group."""
    problem = first_of(problem)
    if isinstance(problem, SignInNeeded):
        return sentence_of(problem)
    if isinstance(problem, FileNotFoundError) and "/" not in str(problem.filename or "/"):
        return Sentence("{program} is not installed: no folder of PATH has it.", program=problem.filename)
    return str(problem).partition("\n")[0] or type(problem).__name__
