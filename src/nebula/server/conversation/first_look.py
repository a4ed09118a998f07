"""What a page shows first, in one answer of its own: where the server is, the flow in short, and its first titles.

The browser asks for it while it still reads the page (`preload`, where no token is asked for) or with the page's first
small script, and mostly has it when the rest has been read. Over the WebSocket the same took a connection and two
rounds more: a sixth of the time to the first titles of 10,000 nodes. Inside the page itself it came no sooner.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from nebula.errors import NebulaError
from nebula.graph.values import DEFAULT_FLOW
from nebula.server.conversation.actions.nodes import list_briefs
from nebula.server.conversation.actions.subscriptions import greeting
from nebula.server.conversation.briefs import seen_first
from nebula.server.conversation.context import ServerContext, in_thread
from nebula.server.conversation.pages import HEADERS
from nebula.server.conversation.protocol import encode

PATH: Final = "/first"
_PLAIN_QUERY: Final = re.compile(r"[\w.%&=+~-]*", re.ASCII)
_NEAR: Final = frozenset({"127.0.0.1", "::1"})


def preload_of(request: Request) -> dict[str, str]:
    """Return the header that has a browser ask for the first look of the page it is being given."""
    query = request.url.query
    if not _PLAIN_QUERY.fullmatch(query):
        return {}
    return {"link": f"<{PATH}{'?' if query else ''}{query}>; rel=preload; as=fetch; crossorigin"}


def answer_first_look(server: ServerContext) -> Callable[[Request], Awaitable[Response]]:
    """Return the route. What cannot be had is left out: the page asks for it again, and is told why then."""

    async def answer(request: Request) -> Response:
        asked = request.query_params
        hello = greeting(server)  # before the rest: what happens meanwhile is among the events after it
        try:
            rest = await in_thread(_read, server, asked.get("flow", DEFAULT_FLOW), asked.get("node"))
        except (NebulaError, OSError):
            rest = ""
        content = f'{{"hello":{encode(hello)}{rest}}}'.encode()
        headers = HEADERS | {"content-type": "application/json"}
        near = request.client is not None and request.client.host in _NEAR
        if near or "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(content, 200, headers)
        packed = await in_thread(gzip.compress, content, 1)
        return Response(packed, 200, headers | {"content-encoding": "gzip"})

    return answer


def _read(server: ServerContext, flow_id: str, near: str | None) -> str:
    flow = server.compact_flows.write(server.graph, flow_id)
    nodes = list_briefs(server, seen_first(server.graph.get_flow(flow_id), near))
    return f',"flow":{flow},"nodes":{encode(nodes)}'
