"""Call a gateway: connections kept open and shared by threads, one retry where that is safe, its errors as ours.

A call that may have reached the gateway is repeated only if doing it twice changes nothing; a connection that was
closed while idle is noticed before anything is sent on it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from nebula.files.untrusted_json import parse_json
from nebula.value import value
from nebula.workspace.errors import (
    ERRORS_BY_CODE,
    AlreadyExists,
    Forbidden,
    MalformedRequest,
    NotUtf8,
    PathNotFound,
    PathRefused,
    StorageFailed,
    TooLarge,
    WorkspaceError,
)

if TYPE_CHECKING:
    from http.client import HTTPConnection

TIMEOUT_S: Final = 60.0
RETRY_AFTER_S: Final = 0.2
MAX_REPLY_BYTES: Final = 1 << 28
MAX_IDLE: Final = 8

_BY_STATUS: Mapping[int, type[WorkspaceError]] = {
    400: PathRefused,
    401: Forbidden,
    403: Forbidden,
    404: PathNotFound,
    409: AlreadyExists,
    413: TooLarge,
    415: NotUtf8,
    422: MalformedRequest,
    500: StorageFailed,
}
"""Exceptions by status, for gateways that use the seed's statuses but other codes."""


class GatewayFailed(WorkspaceError, code="gateway_failed", status=502):
    """Raised where the gateway cannot be reached, or the answer is not a gateway's."""


@value
class GatewayAnswer:
    status: int
    headers: Mapping[str, str]
    body: Any


class GatewayClient:
    def __init__(self, url: str, token: str = "", variable: str = "EC_MCP_URL") -> None:
        """`variable` is the one that holds the address."""
        self._secure, self._host, self._prefix = _split(url, variable)
        self._variable = variable
        self._token = token
        self._idle: list[HTTPConnection] = []
        self._guard = threading.Lock()
        self._extras: frozenset[str] | None = None

    def call(
        self,
        endpoint: str,
        body: Mapping[str, Any],
        trace_id: str,
        *,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = True,
    ) -> GatewayAnswer:
        """Return an answer with status 200; raise any other as its exception."""
        sent = {"content-type": "application/json", **(headers or {})}
        answer = self._ask("POST", endpoint, json.dumps(body).encode(), trace_id, sent, repeatable=repeatable)
        if answer.status == 200 and isinstance(answer.body, dict):
            return answer
        raise self._error(answer)

    def extras(self, trace_id: str) -> frozenset[str]:
        """Return the endpoints of this gateway beyond the seed's three; asked once."""
        if self._extras is None:
            answer = self._ask("GET", "healthz", None, trace_id, {}, repeatable=True)
            named = answer.headers.get("x-gateway-extras", "")
            self._extras = frozenset(name.strip() for name in named.split(",") if name.strip())
        return self._extras

    def close(self) -> None:
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        if hasattr(self, "_idle"):
            self.close()

    def _ask(
        self,
        method: str,
        endpoint: str,
        body: bytes | None,
        trace_id: str,
        headers: dict[str, str],
        *,
        repeatable: bool,
    ) -> GatewayAnswer:
        if trace_id:
            headers["x-trace-id"] = trace_id
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        is_repeated = False
        while True:
            try:
                return self._once(method, endpoint, body, headers)
            except _Failed as failure:
                if is_repeated or (failure.sent and not repeatable):
                    raise self._unreachable(failure) from None
            is_repeated = True
            time.sleep(RETRY_AFTER_S)

    def _once(self, method: str, endpoint: str, body: bytes | None, headers: dict[str, str]) -> GatewayAnswer:
        from http.client import HTTPException

        sent = False
        connection = self._connection()
        try:
            if connection.sock is None:
                connection.connect()
            sent = True
            connection.request(method, f"{self._prefix}/{endpoint}", body, headers)
            response = connection.getresponse()
            text = response.read(MAX_REPLY_BYTES)
            found = {name.lower(): value for name, value in response.getheaders()}
            finished = response.isclosed() and not response.will_close
        except (OSError, HTTPException) as problem:
            connection.close()
            raise _Failed(problem, sent) from None
        self._put_back(connection, finished)
        return GatewayAnswer(response.status, found, _decoded(text))

    def _connection(self) -> HTTPConnection:
        with self._guard:
            while self._idle:
                connection = self._idle.pop()
                if not _dropped(connection):
                    return connection
                connection.close()
        from http.client import HTTPConnection, HTTPSConnection

        kind = HTTPSConnection if self._secure else HTTPConnection
        return kind(self._host, timeout=TIMEOUT_S)

    def _put_back(self, connection: HTTPConnection, finished: bool) -> None:
        with self._guard:
            if finished and len(self._idle) < MAX_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _unreachable(self, failure: _Failed) -> GatewayFailed:
        reason = getattr(failure.problem, "strerror", None) or str(failure.problem) or type(failure.problem).__name__
        return GatewayFailed(
            "The server at {host} cannot be reached ({reason}); is it running? See {variable}.",
            host=self._host,
            variable=self._variable,
            reason=reason,
        )

    def _error(self, answer: GatewayAnswer) -> WorkspaceError:
        error = answer.body.get("error") if isinstance(answer.body, dict) else None
        code, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, None)
        known = ERRORS_BY_CODE.get(str(code))
        if known is not None:
            return known(str(message))
        if answer.status == 401:
            return Forbidden("The server at {host} wants a token, or another one; set EC_TOKEN.", host=self._host)
        kind = _BY_STATUS.get(answer.status)
        if kind is None or code == "no_such_endpoint" or not isinstance(answer.body, dict):
            return GatewayFailed(
                "What answers at {host} is another server (status {status}); see {variable}.",
                host=self._host,
                variable=self._variable,
                status=answer.status,
            )
        reason = message or answer.body.get("detail")
        return kind(str(reason)) if reason else kind("The gateway answered {status}.", status=answer.status)


class _Failed(Exception):
    def __init__(self, problem: Exception, sent: bool) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.sent = sent


def _dropped(connection: HTTPConnection) -> bool:
    """Return whether the other side has closed an idle connection: then there is something to read."""
    import select

    try:
        return connection.sock is None or bool(select.select([connection.sock], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def _decoded(text: bytes) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return None


def _split(url: str, variable: str) -> tuple[bool, str, str]:
    """Return whether an address is https, its host with the port, and the path before each endpoint."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        good = parts.scheme in {"http", "https"} and parts.hostname and not parts.query and "@" not in parts.netloc
        _ = parts.port
    except ValueError:
        good = False
    if not good:
        raise MalformedRequest("{variable} must be an address such as http://127.0.0.1:8787.", variable=variable)
    return parts.scheme == "https", parts.netloc, parts.path.rstrip("/")
