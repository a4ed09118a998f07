"""The gateway: the guarded workspace over REST, for programs on this machine (the seed's "MCP Server").

Everything that judges a file is in the workspace; everything that judges a caller is in the gate; what is left here
is to read the request, call, and answer. Reads are so short that they run at once on the event loop; all that may
wait for the disk goes to a thread.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException

from nebula import __version__
from nebula.server.asgi import App, Receive, Scope, Send
from nebula.server.gate import PASSAGE, Gate, Passage, Rules
from nebula.server.gateway import bodies
from nebula.server.gateway.docs import docs_page
from nebula.server.gateway.operations import EXTRA_OPERATIONS, SEED_OPERATIONS, Operation
from nebula.server.refusals import Refusal
from nebula.value import value
from nebula.workspace.audit import AuditLog
from nebula.workspace.contract import ABSENT, Workspace
from nebula.workspace.errors import Stale, WorkspaceError

THREADS: Final = 16
QUICK_LIMIT: Final = 1 << 20
"""Where files may be larger than this, reads go to a thread, too."""
_SILENT: Final[TelemetryConfig] = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""No other host is contacted, whatever the environment says."""
_ETAG = re.compile(r'"([0-9a-f]{64})"', re.ASCII)
_JSON = "application/json"
_DESCRIPTION = """\
Files below one root, guarded. Send `x-trace-id` (a UUID) to tie requests to a task; it is returned in every response.

Errors have one form. When several things are wrong the first of these is told: malformed request 422, path 400,
extension 400, protected or secret 400, denied by the system 403, missing 404 or existing 409, size 413,
encoding 415."""


Endpoint = Callable[[Request], Awaitable[App]]
"""Takes the request, gives its response."""


def create_gateway(
    workspace: Workspace, rules: Rules, audit: AuditLog | None = None, *, quick_reads: bool = True
) -> App:
    """The ASGI app. `quick_reads`: reads are short enough (see QUICK_LIMIT) to be done on the event loop."""
    threads = ThreadPoolExecutor(THREADS, thread_name_prefix="gateway")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> Any:
        yield
        threads.shutdown()

    app = FastAPI(
        title="EverContext gateway",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        servers=[{"url": "/"}],
        telemetry=_SILENT,
    )
    for operation in (*SEED_OPERATIONS, *EXTRA_OPERATIONS):
        _add(app, operation, _endpoint(operation, workspace, threads, quick_reads=quick_reads))
    _add_pages(app)
    return Gate(Routed(app), rules, _recorder(audit))


class Routed:
    """An app that leaves its errors to the gate, which has a form for each; FastAPI's own layers are passed by."""

    def __init__(self, api: FastAPI) -> None:
        self.api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.api(scope, receive, send)
            return
        scope["app"] = self.api
        try:
            await self.api.router(scope, receive, send)
        except WorkspaceError as error:
            raise Refusal("{problem}", problem=error, status=error.status, code=error.code) from None
        except HTTPException as problem:
            raise _unrouted(problem) from None


def _unrouted(problem: HTTPException) -> Refusal:
    """What routing itself says: no such endpoint, or not by this method."""
    if problem.status_code == 405:
        headers = [(name.lower().encode(), value.encode()) for name, value in (problem.headers or {}).items()]
        return Refusal("This endpoint takes another method.", status=405, code="method_not_allowed", headers=headers)
    return Refusal("There is no such endpoint; see /docs.", status=problem.status_code, code="no_such_endpoint")


def _recorder(audit: AuditLog | None) -> Callable[[Passage, int], None] | None:
    if audit is None:
        return None

    def record(passage: Passage, status: int) -> None:
        audit.record(passage.trace_id, passage.method, passage.path, passage.size, status)

    return record


def _endpoint(
    operation: Operation, workspace: Workspace, threads: ThreadPoolExecutor, *, quick_reads: bool
) -> Endpoint:
    at_once = operation.quick and quick_reads

    async def endpoint(request: Request) -> _JsonResponse:
        passage: Passage = request.scope[PASSAGE]
        passage.method = operation.name
        asked: Any = bodies.read_body(operation.request, passage.body, passage.content_type)
        passage.path = asked.path
        expected = _expected(request) if operation.writes else None
        files = workspace.for_turn(passage.trace_id) if operation.writes else workspace
        if at_once:
            reply = operation.run(files, asked, expected)
        else:
            loop = asyncio.get_running_loop()
            reply = await loop.run_in_executor(threads, operation.run, files, asked, expected)
        if reply.size is not None:
            passage.size = reply.size
        return _JsonResponse(reply.to_bytes(), reply.headers)

    endpoint.__name__ = operation.name
    return endpoint


@value
class _JsonResponse:
    """A response of status 200 in JSON, with nothing left to find out when it is sent."""

    body: bytes
    headers: Mapping[str, str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(self.body)).encode())]
        headers += [(name.encode(), value.encode()) for name, value in self.headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def _expected(request: Request) -> str | None:
    """What the caller saw of the file, as HTTP says it: If-Match with its ETag, or If-None-Match: * for nothing."""
    seen, absent = request.headers.get("if-match"), request.headers.get("if-none-match")
    if seen is None and absent is None:
        return None
    etag = _ETAG.fullmatch(seen) if seen is not None else None
    if (seen is not None and etag is None) or absent not in {None, "*"}:
        raise bodies.Malformed("If-Match takes one ETag as sent with /read_file; If-None-Match takes * alone.")
    if etag is None:
        return ABSENT
    if absent is not None:
        raise Stale("A file cannot both have this content and not be there.")
    return etag[1]


def _add(app: FastAPI, operation: Operation, endpoint: Endpoint) -> None:
    described: dict[str, Any] = {
        "requestBody": {"required": True, "content": {_JSON: {"schema": operation.request.model_json_schema()}}}
    }
    if operation.writes:
        described["parameters"] = [
            _header("If-Match", "Write only while the file has this ETag.", r'^"[0-9a-f]{64}"$'),
            _header("If-None-Match", "Write only while there is no such file.", r"^\*$"),
        ]
    answer: dict[str, Any] = {"content": {_JSON: {"example": operation.example}}}
    app.router.add_api_route(
        f"/{operation.name}",
        endpoint,
        methods=["POST"],
        summary=operation.summary,
        response_model=operation.reply,
        responses={200: answer, **_error_docs(operation.errors)},
        openapi_extra=described,
        operation_id=operation.name,
        route_class_override=_DirectRoute,
    )


class _DirectRoute(APIRoute):
    """Routed and described by FastAPI; answered without its machinery for parameters, which has nothing to do here."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        response = await self.endpoint(Request(scope))
        await response(scope, receive, send)


def _header(name: str, description: str, pattern: str) -> dict[str, Any]:
    schema = {"type": "string", "pattern": pattern}
    return {"name": name, "in": "header", "required": False, "description": description, "schema": schema}


_EVERYWHERE = {
    400: "The x-trace-id is not a UUID.",
    401: "The token is missing or wrong.",
    403: "A Host or Origin of strangers.",
    413: "The request is too large.",
    422: "The request is malformed.",
    500: "The disk, or the server, failed.",
}


def _error_docs(errors: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    told = dict(_EVERYWHERE)
    for status, reason in errors.items():
        told[status] = f"{reason} {told[status]}" if status in told else reason
    example = {"error": {"code": "not_found", "message": "…", "trace_id": "0192f0c1-2345-7abc-8def-0123456789ab"}}
    return {
        status: {"model": bodies.ErrorReply, "description": reason, "content": {_JSON: {"example": example}}}
        for status, reason in sorted(told.items())
    }


def _add_pages(app: FastAPI) -> None:
    extras = {"x-gateway-extras": ", ".join(operation.name for operation in EXTRA_OPERATIONS)}

    async def healthz(_: Request) -> _JsonResponse:
        return _JsonResponse(b'{"status":"ok"}', extras)

    async def docs(_: Request) -> Response:
        return docs_page(app.openapi())

    app.router.add_api_route(
        "/healthz",
        healthz,
        methods=["GET"],
        summary="Is it there?",
        response_model=bodies.Health,
        operation_id="healthz",
        route_class_override=_DirectRoute,
    )
    app.add_route("/docs", docs, include_in_schema=False)
