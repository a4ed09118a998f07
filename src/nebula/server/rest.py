"""What the REST servers share: endpoints routed by Starlette, and an OpenAPI made from their models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router

from nebula import __version__
from nebula.server.asgi import Receive, Scope, Send
from nebula.server.bodies import ErrorReply, Health
from nebula.server.docs_page import docs_page
from nebula.server.refusals import Refusal
from nebula.workspace.errors import WorkspaceError

JSON: Final = "application/json"
_REF: Final = "#/components/schemas/{model}"
_EVERYWHERE: Final = {
    400: "The x-trace-id is not a UUID.",
    401: "The token is missing or wrong.",
    403: "A Host or Origin of strangers.",
    413: "The request is too large.",
    422: "The request is malformed.",
    500: "The disk, or the server, failed.",
}
_ERROR: Final = {"error": {"code": "not_found", "message": "…", "trace_id": "0192f0c1-2345-7abc-8def-0123456789ab"}}

Endpoint = Callable[[Request], Awaitable[Response]]


class RestApi:
    """An app of endpoints, with /healthz, /docs and /openapi.json. It raises its errors, and the gate answers them.
    `health` are the headers of /healthz."""

    def __init__(self, title: str, description: str, lifespan: Any, health: Mapping[str, str]) -> None:
        self._info = {"title": title, "version": __version__, "description": description}
        self._paths: dict[str, Any] = {}
        self._models: dict[str, Any] = {}
        self._router = Router(redirect_slashes=False, lifespan=lifespan)

        async def healthz(_: Request) -> Response:
            return json_response(b'{"status":"ok"}', health)

        async def docs(_: Request) -> Response:
            return docs_page(self.openapi())

        async def openapi(_: Request) -> Response:
            return JSONResponse(self.openapi())

        self.add("healthz", healthz, "Is it there?", Health)
        self._route("docs", docs, "GET")
        self._route("openapi.json", openapi, "GET")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = self  # with an app, routing raises for what it cannot find
        try:
            await self._router(scope, receive, send)
        except WorkspaceError as error:
            raise Refusal("{problem}", problem=error, status=error.status, code=error.code) from None
        except HTTPException as problem:
            raise _unrouted(problem) from None

    def add(
        self,
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
        """Add one endpoint: POST if it has a `request`, else GET. `errors` are its own, by status; `described` is added
        to its OpenAPI."""
        method = "GET" if request is None else "POST"
        self._route(name, endpoint, method)
        answers = {"200": self._content("It is done.", reply, example)}
        if errors is not None:
            listed = _with_common(errors)
            answers |= {str(status): self._content(listed[status], ErrorReply, _ERROR) for status in listed}
        operation = {"summary": summary, "operationId": name, "responses": answers, **(described or {})}
        if request is not None:
            schema = self._schema(request, "validation")
            operation["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
        self._paths[f"/{name}"] = {method.lower(): operation}

    def openapi(self) -> dict[str, Any]:
        return {
            "openapi": "3.1.0",
            "info": self._info,
            "servers": [{"url": "/"}],
            "paths": self._paths,
            "components": {"schemas": self._models},
        }

    def _route(self, name: str, endpoint: Endpoint, method: str) -> None:
        self._router.routes.append(Route(f"/{name}", endpoint, methods=[method]))

    def _content(self, description: str, model: type[BaseModel], example: Mapping[str, Any] | None) -> dict[str, Any]:
        if model.__name__ not in self._models:
            self._models[model.__name__] = self._schema(model, "serialization")
        content: dict[str, Any] = {"schema": {"$ref": _REF.format(model=model.__name__)}}
        return {"description": description, "content": {JSON: content | ({"example": example} if example else {})}}

    def _schema(self, model: type[BaseModel], mode: Any) -> dict[str, Any]:
        """Return a model's schema; the schemas of models that it refers to are added to the shared ones."""
        schema = model.model_json_schema(ref_template=_REF, mode=mode)
        self._models |= schema.pop("$defs", {})
        return schema


def json_response(body: bytes, headers: Mapping[str, str]) -> Response:
    return Response(body, headers=dict(headers), media_type=JSON)


def _with_common(errors: Mapping[int, str]) -> dict[int, str]:
    """Return the reasons by status, including those that every endpoint has."""
    listed = dict(_EVERYWHERE)
    for status, reason in errors.items():
        listed[status] = f"{reason} {listed[status]}" if status in listed else reason
    return dict(sorted(listed.items()))


def _unrouted(problem: HTTPException) -> Refusal:
    """Return the error of the routing itself: no such endpoint, or not with this method."""
    if problem.status_code == 405:
        headers = [(name.lower().encode(), value.encode()) for name, value in (problem.headers or {}).items()]
        return Refusal("This endpoint takes another method.", status=405, code="method_not_allowed", headers=headers)
    return Refusal("There is no such endpoint; see /docs.", status=problem.status_code, code="no_such_endpoint")
