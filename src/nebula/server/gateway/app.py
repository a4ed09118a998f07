"""The gateway: the guarded workspace over REST, for programs on this machine (the seed's "MCP Server").

The workspace judges files, and the gate judges callers; what is left here is to read the request, call, and answer.
Reads are so short that they run directly on the event loop; everything that may wait for the disk runs in a thread.
"""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from nebula.server.asgi import App
from nebula.server.bodies import Malformed, read_body
from nebula.server.gate import PASSAGE, Gate, Passage, Rules, recorder
from nebula.server.gateway.operations import EXTRA_OPERATIONS, SEED_OPERATIONS, Operation
from nebula.server.rest import Endpoint, RestApi, json_response
from nebula.workspace.audit import AuditLog
from nebula.workspace.contract import ABSENT, Workspace
from nebula.workspace.errors import Stale

THREADS: Final = 16
QUICK_LIMIT: Final = 1 << 20
"""If files may be larger than this, reads run in a thread, too."""
_ETAG = re.compile(r'"([0-9a-f]{64})"', re.ASCII)
_DESCRIPTION = """\
Files below one root, guarded. Send `x-trace-id` (a UUID) to tie requests to a task; it is returned in every response.

Errors have one form. When several things are wrong the first of these is reported: malformed request 422, path 400,
extension 400, protected or secret 400, denied by the system 403, missing 404 or existing 409, size 413,
encoding 415."""


def create_gateway(
    workspace: Workspace, rules: Rules, audit: AuditLog | None = None, *, quick_reads: bool = True
) -> App:
    """Return the ASGI app. `quick_reads`: reads are short enough (see QUICK_LIMIT) to be done on the event loop."""
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix="gateway")

    @asynccontextmanager
    async def lifespan(_: RestApi) -> Any:
        yield
        threads.shutdown()

    health = {"x-gateway-extras": ", ".join(operation.name for operation in EXTRA_OPERATIONS)}
    api = RestApi("EverContext gateway", _DESCRIPTION, lifespan, health)
    for operation in (*SEED_OPERATIONS, *EXTRA_OPERATIONS):
        api.add(
            operation.name,
            _endpoint(operation, workspace, threads, quick_reads=quick_reads),
            operation.summary,
            operation.reply,
            request=operation.request,
            example=operation.example,
            errors=operation.errors,
            described={"parameters": _CONDITIONS} if operation.conditional else None,
        )
    return Gate(api, rules, recorder(audit))


def _endpoint(
    operation: Operation, workspace: Workspace, threads: ThreadPoolExecutor, *, quick_reads: bool
) -> Endpoint:
    at_once = operation.quick and quick_reads

    async def endpoint(request: Request) -> Response:
        passage: Passage = request.scope[PASSAGE]
        passage.method = operation.name
        asked: Any = read_body(operation.request, passage.body, passage.content_type)
        passage.path = getattr(asked, "path", passage.path)  # a route about no file is recorded under its own name
        expected = _expected(request) if operation.conditional else None
        files = workspace.for_turn(passage.trace_id) if operation.writes else workspace
        if at_once:
            reply = operation.run(files, asked, expected)
        else:
            loop = asyncio.get_running_loop()
            reply = await loop.run_in_executor(threads, operation.run, files, asked, expected)
        if reply.size is not None:
            passage.size = reply.size
        return json_response(reply.to_bytes(), reply.headers)

    return endpoint


def _expected(request: Request) -> str | None:
    """Return what the caller saw of the file, as HTTP sends it: If-Match with its ETag, or If-None-Match: * for no
    file."""
    seen, absent = request.headers.get("if-match"), request.headers.get("if-none-match")
    if seen is None and absent is None:
        return None
    etag = _ETAG.fullmatch(seen) if seen is not None else None
    if (seen is not None and etag is None) or absent not in {None, "*"}:
        raise Malformed("If-Match takes one ETag as sent with /read_file; If-None-Match takes * alone.")
    if etag is None:
        return ABSENT
    if absent is not None:
        raise Stale("A file cannot both have this content and not be there.")
    return etag[1]


def _header(name: str, description: str, pattern: str) -> dict[str, Any]:
    schema = {"type": "string", "pattern": pattern}
    return {"name": name, "in": "header", "required": False, "description": description, "schema": schema}


_CONDITIONS: Final = (
    _header("If-Match", "Write only while the file has this ETag.", r'^"[0-9a-f]{64}"$'),
    _header("If-None-Match", "Write only while there is no such file.", r"^\*$"),
)
