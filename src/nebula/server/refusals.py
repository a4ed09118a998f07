"""Every error the servers send has one form: {"error": {"code", "message", "trace_id"}}."""

from __future__ import annotations

import json
from collections.abc import Sequence

Headers = Sequence[tuple[bytes, bytes]]


class Refusal(Exception):
    """A request that goes no further. The message is for the client and holds nothing of the server's own."""

    def __init__(self, status: int, code: str, message: str, headers: Headers = ()) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers


def error_body(code: str, message: str, trace_id: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "trace_id": trace_id}}).encode()


def internal_error() -> Refusal:
    return Refusal(500, "internal_error", "Something went wrong in the server; its own log says what.")
