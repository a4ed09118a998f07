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
from nebula.server import gateway_bodies as bodies
from nebula.server.asgi import App, Receive, Scope, Send
from nebula.server.gate import PASSAGE, Gate, Passage, Rules
from nebula.server.gateway_docs import docs_page
from nebula.server.gateway_operations import EXTRA_OPERATIONS, SEED_OPERATIONS, Operation, Reply
from nebula.server.refusals import Refusal, error_body, internal_error
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
extension 400, forbidden 403, missing 404 or existing 409, size 413, encoding 415."""


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
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(WorkspaceError, _failed)
    app.add_exception_handler(HTTPException, _unrouted)
    app.add_exception_handler(Exception, _broken)
    return Gate(app, rules, _recorder(audit))


def _recorder(audit: AuditLog | None) -> Callable[[Passage, int], None] | None:
    if audit is None:
        return None

    def record(passage: Passage, status: int) -> None:
        audit.record(passage.trace_id, passage.method, passage.path, passage.size, status)

    return record


def _endpoint(
    operation: Operation, workspace: Workspace, threads: ThreadPoolExecutor, *, quick_reads: bool
) -> Callable[[Request], Awaitable[Response]]:
    at_once = operation.quick and quick_reads

    async def endpoint(request: Request) -> Response:
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
        return _response(reply, passage)

    endpoint.__name__ = operation.name
    return endpoint


def _response(reply: Reply, passage: Passage) -> Response:
    if reply.size is not None:
        passage.size = reply.size
    return Response(reply.to_bytes(), media_type=_JSON, headers=dict(reply.headers))


def _expected(request: Request) -> str | None:
    """What the caller saw of the file, as HTTP says it: If-Match with its ETag, or If-None-Match: * for nothing."""
    seen, absent = request.headers.get("if-match"), request.headers.get("if-none-match")
    if seen is None and absent is None:
        return None
    etag = _ETAG.fullmatch(seen) if seen is not None else None
    if (seen is not None and etag is None) or absent not in {None, "*"}:
        raise bodies.malformed("If-Match takes one ETag as sent with /read_file; If-None-Match takes * alone.")
    if etag is None:
        return ABSENT
    if absent is not None:
        raise Stale("A file cannot both have this content and not be there.")
    return etag[1]


def _add(app: FastAPI, operation: Operation, endpoint: Callable[[Request], Awaitable[Response]]) -> None:
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
        if scope["method"] != "POST":
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
    @app.get("/healthz", response_model=bodies.Health, summary="Is it there?", operation_id="healthz")
    async def healthz() -> Response:
        extras = ", ".join(operation.name for operation in EXTRA_OPERATIONS)
        return Response(b'{"status":"ok"}', media_type=_JSON, headers={"x-gateway-extras": extras})

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return docs_page(app.openapi())


def _told(request: Request, refusal: Refusal) -> Response:
    passage: Passage = request.scope[PASSAGE]
    headers = {name.decode(): value.decode() for name, value in refusal.headers}
    body = error_body(refusal.code, refusal.message, passage.trace_id)
    return Response(body, refusal.status, headers, media_type=_JSON)


async def _refused(request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, Refusal)  # noqa: S101 - registered for this kind alone
    return _told(request, refusal)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, WorkspaceError)  # noqa: S101 - registered for this kind alone
    return _told(request, Refusal(error.status, error.code, error.message))


async def _unrouted(request: Request, problem: Exception) -> Response:
    """What routing itself says: no such endpoint, or not by this method."""
    assert isinstance(problem, HTTPException)  # noqa: S101 - registered for this kind alone
    headers = [(name.encode(), value.encode()) for name, value in (problem.headers or {}).items()]
    if problem.status_code == 405:
        return _told(request, Refusal(405, "method_not_allowed", "This endpoint takes another method.", headers))
    return _told(request, Refusal(problem.status_code, "no_such_endpoint", "There is no such endpoint; see /docs."))


async def _broken(request: Request, _: Exception) -> Response:
    return _told(request, internal_error())
