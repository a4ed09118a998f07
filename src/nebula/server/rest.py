"""What the REST servers share: an app that FastAPI routes and describes, and that answers in our own few forms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from nebula import __version__
from nebula.server.asgi import App, Receive, Scope, Send
from nebula.server.bodies import ErrorReply, Health
from nebula.server.docs_page import docs_page
from nebula.server.refusals import Refusal
from nebula.value import value
from nebula.workspace.errors import WorkspaceError

_SILENT: Final[TelemetryConfig] = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""No other host is contacted, whatever the environment says."""
JSON: Final = "application/json"

Endpoint = Callable[[Request], Awaitable[App]]
"""Takes the request, gives its response."""


def new_api(title: str, description: str, lifespan: Any) -> FastAPI:
    return FastAPI(
        title=title,
        version=__version__,
        description=description,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        servers=[{"url": "/"}],
        telemetry=_SILENT,
    )


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
    """Answer what routing itself refuses: no such endpoint, or not by this method."""
    if problem.status_code == 405:
        headers = [(name.lower().encode(), value.encode()) for name, value in (problem.headers or {}).items()]
        return Refusal("This endpoint takes another method.", status=405, code="method_not_allowed", headers=headers)
    return Refusal("There is no such endpoint; see /docs.", status=problem.status_code, code="no_such_endpoint")


@value
class JsonResponse:
    """A response of status 200 in JSON, with nothing left to find out when it is sent."""

    body: bytes
    headers: Mapping[str, str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(self.body)).encode())]
        headers += [(name.encode(), value.encode()) for name, value in self.headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class DirectRoute(APIRoute):
    """Routed and described by FastAPI; answered without its machinery for parameters, which has nothing to do here."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        response = await self.endpoint(Request(scope))
        await response(scope, receive, send)


_EVERYWHERE = {
    400: "The x-trace-id is not a UUID.",
    401: "The token is missing or wrong.",
    403: "A Host or Origin of strangers.",
    413: "The request is too large.",
    422: "The request is malformed.",
    500: "The disk, or the server, failed.",
}


def error_docs(errors: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    listed = dict(_EVERYWHERE)
    for status, reason in errors.items():
        listed[status] = f"{reason} {listed[status]}" if status in listed else reason
    example = {"error": {"code": "not_found", "message": "…", "trace_id": "0192f0c1-2345-7abc-8def-0123456789ab"}}
    return {
        status: {"model": ErrorReply, "description": reason, "content": {JSON: {"example": example}}}
        for status, reason in sorted(listed.items())
    }


def add_operation(
    app: FastAPI,
    name: str,
    endpoint: Endpoint,
    summary: str,
    reply: type[BaseModel],
    *,
    request: type[BaseModel] | None = None,
    example: Mapping[str, Any] | None = None,
    errors: Mapping[int, str] | None = None,
    described: Mapping[str, Any] | None = None,
) -> None:
    """One endpoint: POST where it takes a `request`, else GET."""
    extra = dict(described or {})
    if request is not None:
        extra["requestBody"] = {"required": True, "content": {JSON: {"schema": request.model_json_schema()}}}
    answer: dict[int | str, dict[str, Any]] = {200: {"content": {JSON: {"example": example}}}} if example else {}
    app.router.add_api_route(
        f"/{name}",
        endpoint,
        methods=["GET" if request is None else "POST"],
        summary=summary,
        response_model=reply,
        responses=answer | (error_docs(errors) if errors is not None else {}),
        openapi_extra=extra,
        operation_id=name,
        route_class_override=DirectRoute,
    )


def add_pages(app: FastAPI, health: Mapping[str, str]) -> None:
    """/healthz, with these headers, and /docs."""

    async def healthz(_: Request) -> JsonResponse:
        return JsonResponse(b'{"status":"ok"}', health)

    async def docs(_: Request) -> Response:
        return docs_page(app.openapi())

    add_operation(app, "healthz", healthz, "Is it there?", Health)
    app.add_route("/docs", docs, include_in_schema=False)
