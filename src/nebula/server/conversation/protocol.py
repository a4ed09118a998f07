"""The words on the WebSocket (seed §12.4): requests in, answers and events out.

{"action": "get_node", "data": {"node_id": "…"}, "id": 7}
{"status": "success", "data": {…}, "id": 7}
{"status": "error", "data": {}, "error": {"code": "not_found", "message": "…"}, "id": 7}
{"event": "node_created", "seq": 12, "data": {…}}
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAX_MESSAGE: Final = 1 << 20
"""Bytes of one request; a larger one is answered with an error."""
MAX_RECEIVED: Final = 32 << 20
"""Bytes that are read at all, so that a request too large can be answered instead of cutting the line."""

_SCALAR = r"(-?\d{1,18}|\"[^\"\\]{0,200}\")"
_ID_IN_FRONT = re.compile(rf'\s*\{{\s*(?:"action"\s*:\s*"[^"\\]*"\s*,\s*)?"id"\s*:\s*{_SCALAR}\s*,')
_ID_AT_THE_END = re.compile(rf',\s*"id"\s*:\s*{_SCALAR}\s*\}}\s*\Z')
_END = 300
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class ActionError(Exception):
    """Why an action was not carried out: a word for programs, a sentence for people."""

    def __init__(self, code: str, message: str, request_id: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.request_id = request_id


@dataclass(frozen=True, slots=True)
class ActionRequest:
    action: str
    data: Data
    id: Any = None


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What an action has to say; `beside` stands next to `data`, where the seed's example looks for it."""

    data: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)


class Data:
    """The fields of a request, each read as what it has to be."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def has(self, name: str) -> bool:
        return self._fields.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        value = self._fields.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise _bad(f"'{name}' must be a text" if name in self._fields else f"'{name}' is missing")
        return value

    def optional_text(self, name: str) -> str | None:
        return self.text(name) if self.has(name) else None

    def texts(self, name: str) -> list[str]:
        """A list of texts; one text alone counts as a list of one."""
        value = self._fields.get(name)
        if value is None:
            return []
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise _bad(f"'{name}' must be a list of texts")
        return value

    def optional_texts(self, name: str) -> list[str] | None:
        return self.texts(name) if self.has(name) else None

    def number(self, name: str, default: int) -> int:
        value = self._fields.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise _bad(f"'{name}' must be a whole number, 0 or more")
        return value

    def flag(self, name: str) -> bool:
        value = self._fields.get(name)
        if value is not None and not isinstance(value, bool):
            raise _bad(f"'{name}' must be true or false")
        return bool(value)

    def objects(self, name: str) -> list[Data]:
        value = self._fields.get(name)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise _bad(f"'{name}' must be a list of objects")
        return [Data(item) for item in value]


def read_request(text: str) -> ActionRequest:
    """Raises ActionError; its `request_id` is set where the message was readable enough to have one."""
    if len(text) > MAX_MESSAGE or len(text.encode("utf-8", "replace")) > MAX_MESSAGE:
        raise ActionError("too_large", f"a message may have {MAX_MESSAGE} bytes", _id_unread(text))
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise _bad("the message is not JSON") from None
    if not isinstance(found, dict):
        raise _bad("the message must be an object with 'action' and 'data'")
    request_id = found.get("id")
    if _ESCAPED_SURROGATE.search(text):
        _refuse_lone_surrogates(found, request_id)
    action, data = found.get("action"), found.get("data")
    if not isinstance(action, str):
        raise _bad("'action' is missing", request_id)
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise _bad("'data' must be an object", request_id)
    return ActionRequest(action, Data(data), request_id)


def _id_unread(text: str) -> Any:
    """The id of a message too large to be read as a whole, where clients put it: in front of the data or behind it."""
    found = _ID_IN_FRONT.match(text) or _ID_AT_THE_END.search(text[-_END:])
    return json.loads(found[1]) if found else None


def _refuse_lone_surrogates(found: object, request_id: Any) -> None:
    try:
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        sentence = "the message has half a surrogate pair, which is no character"
        raise ActionError("bad_text", sentence, request_id) from None


def _bad(message: str, request_id: Any = None) -> ActionError:
    return ActionError("bad_request", message, request_id)


def success(answer: ActionResult, request_id: Any) -> str:
    return _written({"status": "success", "data": dict(answer.data)} | dict(answer.beside), request_id)


def failure(error: ActionError, request_id: Any) -> str:
    told = {"code": error.code, "message": error.message}
    return _written({"status": "error", "data": {}, "error": told}, request_id)


def _written(body: dict[str, Any], request_id: Any) -> str:
    return encode(body if request_id is None else body | {"id": request_id})


def event_text(name: str, seq: int, data: Mapping[str, Any]) -> str:
    return encode({"event": name, "seq": seq, "data": data})


def encode(value: Any) -> str:
    """JSON that fits into a text frame, whatever a model or a file put into it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text
