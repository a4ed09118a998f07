"""What a page shows first, in one answer of its own: where the server is, the flow in short, and its first titles.

The browser asks for it while it still reads the page (`preload`, where no token is asked for) or with the page's first
small script, and mostly has it when the rest has been read. Over the WebSocket the same took a connection and two
rounds more: a sixth of the time to the first titles of 10,000 nodes. Inside the page itself it came no sooner.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from typing import Final

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response

from nebula.errors import NebulaError
from nebula.graph.values import DEFAULT_FLOW
from nebula.server.conversation.actions.nodes import list_briefs
from nebula.server.conversation.actions.subscriptions import greeting
from nebula.server.conversation.context import ServerContext, in_thread
from nebula.server.conversation.pages import HEADERS
from nebula.server.conversation.protocol import encode

PATH: Final = "/first"
_PLAIN_QUERY: Final = re.compile(r"[\w.%&=+~-]*", re.ASCII)
_NEAR: Final = frozenset({"127.0.0.1", "::1"})
SOON_S: Final = 2.0
"""A first look that was not fetched so soon after the page is read again."""
_Begun = tuple[str, asyncio.Task[bytes]]
"""First looks that are being read before the page asks for them, by the query of the page."""


class FirstLooks:
    """Reads what a page will show first while the browser is still loading the page: its request comes some 10 ms
    later."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._begun: _Begun | None = None

    def announce(self, page: Response, request: Request) -> None:
        """Have the browser request the first look of the page that it is getting, and begin to read it."""
        query = request.url.query
        if _PLAIN_QUERY.fullmatch(query):
            page.headers["link"] = f"<{PATH}{'?' if query else ''}{query}>; rel=preload; as=fetch; crossorigin"
            page.background = BackgroundTask(self._begin, request)  # once the page was sent: both need the processor

    async def answer(self, request: Request) -> Response:
        """Answer the page's request. What cannot be read is left out: the page asks for that again, and then gets the
        error."""
        content = await self._taken(request)
        headers = HEADERS | {"content-type": "application/json"}
        near = request.client is not None and request.client.host in _NEAR
        if near or "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(content, 200, headers)
        packed = await in_thread(gzip.compress, content, 1)
        return Response(packed, 200, headers | {"content-encoding": "gzip"})

    async def _begin(self, request: Request) -> None:
        begun = self._begun = request.url.query, asyncio.create_task(self._read(request))
        asyncio.get_running_loop().call_later(SOON_S, self._forget, begun)

    def _forget(self, begun: _Begun) -> None:
        if self._begun is begun:
            self._begun = None

    async def _taken(self, request: Request) -> bytes:
        begun, self._begun = self._begun, None
        return await (begun[1] if begun and begun[0] == request.url.query else self._read(request))

    async def _read(self, request: Request) -> bytes:
        asked = request.query_params
        hello = greeting(self._server)  # before the rest: what happens in the meantime is among the later events
        try:
            rest = await in_thread(_read, self._server, asked.get("flow", DEFAULT_FLOW), asked.get("node"))
        except (NebulaError, OSError):
            rest = ""
        return f'{{"hello":{encode(hello)}{rest}}}'.encode()


def _read(server: ServerContext, flow_id: str, near: str | None) -> str:
    flow = server.compact_flows.write(server.graph, flow_id)
    nodes = list_briefs(server, server.seen_first.list_ids(server.graph.get_flow(flow_id), near))
    return f',"flow":{flow},"nodes":{encode(nodes)}'
