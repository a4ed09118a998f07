"""Every error the servers send has one form: {"error": {"code", "message", "trace_id"}}."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nebula.errors import NebulaError

Headers = Sequence[tuple[bytes, bytes]]


class Refusal(NebulaError):
    """Raised for a request that is refused. The sentence is for the client and reveals nothing of the server."""

    def __init__(self, sentence: str, /, *, status: int, code: str, headers: Headers = (), **values: Any) -> None:
        super().__init__(sentence, **values)
        self.status = status
        self.code = code
        self.headers = headers


def error_body(code: str, message: str, trace_id: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "trace_id": trace_id}}).encode()


def internal_error() -> Refusal:
    return Refusal("Something went wrong in the server; its own log says what.", status=500, code="internal_error")
