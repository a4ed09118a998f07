"""What the gateway reads and answers, as models: requests are checked by them, and the OpenAPI is drawn from them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from nebula.server.bodies import Count, RequestBody
from nebula.workspace.reading import MAX_KEYWORD

PathText = Annotated[str, Field(description='Relative to the root, with "/" between names.', examples=["app/main.py"])]


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


class RollBackBody(RequestBody):
    """Nothing to say: all that the task changed, and nothing less."""


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


class RollBackReply(BaseModel):
    files: list[str]


class StateReply(BaseModel):
    path: str
    kind: Literal["file", "directory", "missing", "other"]
    size: int | None
    sha256: str | None
