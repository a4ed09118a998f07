"""What the gateway reads and answers, as models: FastAPI writes the OpenAPI from them, pydantic checks requests.

A request is read strictly from its JSON bytes in one go, so NaN, lone surrogates, deep nesting and huge numbers are
answered like any other malformed request, and nothing of the input is ever echoed but the names of its fields.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from nebula.server.refusals import Refusal
from nebula.workspace.local import MAX_KEYWORD

MAX_FIELD_SHOWN = 60


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 5.0 is as whole as 5."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(_whole)]
PathText = Annotated[str, Field(description='Relative to the root, with "/" between names.', examples=["app/main.py"])]


class RequestBody(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class ListBody(RequestBody):
    path: Annotated[str, Field(description="A directory, relative to the root.", examples=["."])]
    extensions: Annotated[list[str] | None, Field(description="Name only files of these kinds.")] = None
    max_items: Annotated[Count | None, Field(description="How many entries at most.")] = None


class ReadBody(RequestBody):
    path: PathText


class WriteBody(RequestBody):
    path: PathText
    content: Annotated[str, Field(examples=["print('hello')\n"])]
    mode: Annotated[
        Literal["create", "overwrite", "append"],
        Field(description="create: must be new. overwrite: replaces, or makes. append: adds at the end, or makes."),
    ]


class SearchBody(RequestBody):
    path: Annotated[str, Field(description="A directory, relative to the root.", examples=["."])]
    keyword: Annotated[
        str,
        Field(
            description="Found exactly as typed.", pattern=r"^[^\x00]+$", max_length=MAX_KEYWORD, examples=["def main"]
        ),
    ]
    max_files: Count | None = None


class CheckBody(RequestBody):
    path: PathText
    mode: Literal["create", "overwrite", "append"]
    content: str | None = None


class ListedEntry(BaseModel):
    name: str
    is_dir: bool
    size: Annotated[int | None, Field(description="Bytes; left out where there is none to tell.")] = None


class ListReply(BaseModel):
    files: list[ListedEntry]


class ReadReply(BaseModel):
    content: str


class WriteReply(BaseModel):
    status: Literal["ok"]
    path: str


class TreeEntry(ListedEntry):
    path: str


class TreeReply(BaseModel):
    path: str
    files: list[TreeEntry]
    truncated: bool
    remark: str | None


class SearchReply(BaseModel):
    files: list[str]
    truncated: bool
    remark: str | None


class StateReply(BaseModel):
    path: str
    kind: Literal["file", "directory", "missing", "other"]
    size: int | None
    sha256: str | None


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
    """A request that is not what its endpoint takes."""

    def __init__(self, sentence: str, /, **values: Any) -> None:
        super().__init__(sentence, status=422, code="malformed_request", **values)


def read_body(kind: type[Body], body: bytes, content_type: str) -> Body:
    """The request, or a refusal that says which field is wrong and why."""
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
