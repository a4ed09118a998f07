"""What the index server reads and answers, as models."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, model_validator

from nebula.server.bodies import Count, RequestBody

MAX_RESULTS = 1_000
MAX_QUERY = 100_000

Path = Annotated[str, Field(description="Relative to the root.", max_length=4_096, examples=["app/main.py"])]


class Rename(RequestBody):
    old: Annotated[str, Field(alias="from", max_length=4_096)]
    new: Annotated[str, Field(alias="to", max_length=4_096)]


class ChangedPaths(RequestBody):
    added: tuple[Path, ...] = ()
    modified: tuple[Path, ...] = ()
    deleted: tuple[Path, ...] = ()
    renamed: tuple[Rename, ...] = ()


class IngestBody(RequestBody):
    paths: Annotated[tuple[Path, ...] | None, Field(description="Files, and folders with all files below.")] = None
    diff: Annotated[ChangedPaths | None, Field(description="What changed: added, modified, deleted, renamed.")] = None

    @model_validator(mode="after")
    def _one_of_both(self) -> IngestBody:
        if (self.paths is None) == (self.diff is None):
            raise ValueError("give either paths or diff")
        return self


class PruneBody(RequestBody):
    paths: Annotated[tuple[Path, ...], Field(description="Files, and folders with all files below.")]


class Filters(RequestBody):
    path_prefix: Annotated[str, Field(description="Only paths that begin so.", max_length=4_096)] = ""
    language: Annotated[str, Field(description="Only files of this language, such as python.", max_length=40)] = ""


class ChunkSearchBody(RequestBody):
    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY, examples=["where is the session saved?"])]
    top_k: Annotated[Count, Field(le=MAX_RESULTS, description="How many chunks at most.")] = 10
    filters: Filters = Filters()


class OutlineBody(RequestBody):
    query: Annotated[str, Field(max_length=MAX_QUERY, description="What the outline is for.")] = ""
    recent: Annotated[tuple[Path, ...], Field(description="Files just read, which come first.")] = ()
    limit: Annotated[Count, Field(le=MAX_RESULTS, description="How many files at most.")] = 80


class SkippedFile(BaseModel):
    path: str
    reason: str


class IngestReply(BaseModel):
    ingested: Annotated[int, Field(description="Of the files asked for, those that are searchable now.")]
    skipped: list[SkippedFile]
    deleted: int
    renamed: int


class PruneReply(BaseModel):
    deleted: int


class FoundChunk(BaseModel):
    path: str
    span: Annotated[str, Field(examples=["L10-L24"])]
    text: Annotated[str, Field(description="Exactly those lines, as the file is now.")]
    score: float
    symbol: str
    language: str
    blob: Annotated[str, Field(description="git's name for the file's whole content.")]
    commit: Annotated[str, Field(description="The commit that has this content; empty where none does.")]


class ChunkSearchReply(BaseModel):
    chunks: list[FoundChunk]


class OutlineEntry(BaseModel):
    path: str
    symbols: Annotated[str, Field(description="What it defines, separated by commas.", examples=["Session, open"])]


class OutlineReply(BaseModel):
    files: list[OutlineEntry]


class StatusReply(BaseModel):
    ready: Annotated[bool, Field(description="The first look at all files is done.")]
    problem: Annotated[str, Field(description="Why the last try to keep in step failed; empty if it did not.")]
    files: int
    chunks: int
    queued: int
    embedded: int
    embedded_total: int
    skipped: int
    skipped_files: list[SkippedFile]
    commit: str
    embedder: str
