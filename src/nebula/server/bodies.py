"""Read and check the body of a request; also the replies that every REST server has.

A body is read strictly from its JSON bytes in one pass, so NaN, lone surrogates, deep nesting and huge numbers are
answered like any other malformed request, and nothing of the input is echoed except the names of its fields.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from nebula.server.refusals import Refusal

MAX_FIELD_SHOWN = 60


def _to_whole_number(value: Any) -> Any:
    """Return 5 for 5.0, since JSON has one kind of number; any other value unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_to_whole_number)]


class RequestBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Health(BaseModel):
    status: Literal["ok"]


class ErrorDetail(BaseModel):
    code: str
    message: str
    trace_id: str


class ErrorReply(BaseModel):
    error: ErrorDetail


Body = TypeVar("Body", bound=RequestBody)


class Malformed(Refusal):
    """A request that its endpoint does not accept."""

    def __init__(self, sentence: str, /, **values: Any) -> None:
        super().__init__(sentence, status=422, code="malformed_request", **values)


def read_body(kind: type[Body], body: bytes, content_type: str) -> Body:
    """Return the request. Raises Malformed, which names the wrong field and why."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Malformed("Send the request as JSON, with 'Content-Type: application/json'.")
    try:
        return kind.model_validate_json(body)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"])[:MAX_FIELD_SHOWN]
        if not place:
            raise Malformed("{problem}.", problem=first["msg"]) from None
        raise Malformed("{place}: {problem}.", place=place, problem=first["msg"]) from None
