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
from typing import Any, Final

from nebula.errors import NebulaError
from nebula.value import field, value

MAX_MESSAGE: Final = 1 << 20
"""Bytes of one request without the data of its images; a larger one is answered with an error."""
MAX_RECEIVED: Final = 32 << 20
"""Bytes that are read at all: images, and requests that are too large, which get an answer instead of a closed
connection."""

_SCALAR = r"(-?\d{1,18}|\"[^\"\\]{0,200}\")"
_ID_IN_FRONT = re.compile(rf'\s*\{{\s*(?:"action"\s*:\s*"[^"\\]*"\s*,\s*)?"id"\s*:\s*{_SCALAR}\s*,')
_ID_AT_THE_END = re.compile(rf',\s*"id"\s*:\s*{_SCALAR}\s*\}}\s*\Z')
_END = 300
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class ActionError(NebulaError):
    """Why an action was not carried out: a sentence for people, and `code` for programs."""

    def __init__(self, sentence: str, /, *, code: str = "bad_request", request_id: Any = None, **values: Any) -> None:
        super().__init__(sentence, **values)
        self.code = code
        self.request_id = request_id


@value
class ActionRequest:
    action: str
    data: Mapping[str, Any]
    id: Any = None


@value
class ActionResult:
    """The answer of an action; `beside` is put next to `data`, where the seed's example has it."""

    data: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)
    written: str = ""
    """The data as JSON, if that exists already."""


def read_request(text: str) -> ActionRequest:
    """Return the request in a message. Raises ActionError, with `request_id` if that could be read."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    if size > MAX_MESSAGE and '"images"' not in text:
        raise _too_large(_id_unread(text))
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ActionError("the message is not JSON") from None
    if size - _image_characters(found) > MAX_MESSAGE:
        raise _too_large(_id_unread(text))
    if not isinstance(found, dict):
        raise ActionError("the message must be an object with 'action' and 'data'")
    request_id = found.get("id")
    if _ESCAPED_SURROGATE.search(text):
        _refuse_lone_surrogates(found, request_id)
    action, data = found.get("action"), found.get("data")
    if not isinstance(action, str):
        raise ActionError("'{key}' is missing", request_id=request_id, key="action")
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise ActionError("'data' must be an object", request_id=request_id)
    return ActionRequest(action, data, request_id)


def _too_large(request_id: Any) -> ActionError:
    return ActionError("a message may have {limit} bytes", code="too_large", request_id=request_id, limit=MAX_MESSAGE)


def _image_characters(found: Any) -> int:
    """Return the number of characters of images in a request, which have a limit of their own."""
    data = found.get("data") if isinstance(found, dict) else None
    images = data.get("images") if isinstance(data, dict) else None
    if not isinstance(images, list):
        return 0
    contents = (each.get("data") for each in images if isinstance(each, dict))
    return sum(len(each) for each in contents if isinstance(each, str))


def _id_unread(text: str) -> Any:
    """Return the id of a message that is too large to be parsed, if it is where clients put it: before the data or
    after it."""
    found = _ID_IN_FRONT.match(text) or _ID_AT_THE_END.search(text[-_END:])
    return json.loads(found[1]) if found else None


def _refuse_lone_surrogates(found: object, request_id: Any) -> None:
    try:
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ActionError(
            "the message has half a surrogate pair, which is no character", code="bad_text", request_id=request_id
        ) from None


def success(result: ActionResult, request_id: Any) -> str:
    if result.written:
        beside = "" if request_id is None else f',"id":{encode(request_id)}'
        return f'{{"status":"success","data":{result.written}{beside}}}'
    return _written({"status": "success", "data": dict(result.data)} | dict(result.beside), request_id)


def failure(code: str, message: str, request_id: Any) -> str:
    return _written({"status": "error", "data": {}, "error": {"code": code, "message": message}}, request_id)


def _written(body: dict[str, Any], request_id: Any) -> str:
    return encode(body if request_id is None else body | {"id": request_id})


def event_text(name: str, seq: int, data: Mapping[str, Any]) -> str:
    return encode({"event": name, "seq": seq, "data": data})


def encode(value: Any) -> str:
    """Return JSON that fits into a text frame, whatever a model or a file put into it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text
