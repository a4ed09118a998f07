"""A workspace around another one: it passes every call on, and a subclass overrides what it changes."""

from __future__ import annotations

from typing import Self

from nebula.workspace.contract import (
    DEFAULT_SEARCH_FILES,
    FileLines,
    FileText,
    Kinds,
    Listing,
    PathState,
    SearchHits,
    Workspace,
    WriteMode,
    WriteResult,
)


class WrappedWorkspace:
    def __init__(self, inner: Workspace) -> None:
        self._inner = inner

    def _around(self, inner: Workspace) -> Self:
        """Return the same wrapper around another workspace."""
        return type(self)(inner)

    def _require(self, path: str) -> None:
        """Raise where a path is out of bounds; called before each call that has a path is passed on."""

    @property
    def read_only(self) -> bool:
        return self._inner.read_only

    def list_files(
        self, path: str = ".", *, recursive: bool = False, extensions: Kinds = None, max_items: int | None = None
    ) -> Listing:
        self._require(path)
        return self._inner.list_files(path, recursive=recursive, extensions=extensions, max_items=max_items)

    def read_file(self, path: str) -> FileText:
        self._require(path)
        return self._inner.read_file(path)

    def read_lines(self, path: str, first: int, last: int | None = None) -> FileLines:
        self._require(path)
        return self._inner.read_lines(path, first, last)

    def write_file(
        self, path: str, content: str, mode: WriteMode = "create", *, expected: str | None = None
    ) -> WriteResult:
        self._require(path)
        return self._inner.write_file(path, content, mode, expected=expected)

    def search(self, directory: str, keyword: str, *, max_files: int = DEFAULT_SEARCH_FILES) -> SearchHits:
        self._require(directory)
        return self._inner.search(directory, keyword, max_files=max_files)

    def probe(self, path: str) -> PathState:
        self._require(path)
        return self._inner.probe(path)

    def check_write(self, path: str, mode: WriteMode, content: str | None = None) -> PathState:
        self._require(path)
        return self._inner.check_write(path, mode, content)

    def roll_back(self) -> tuple[str, ...]:
        return self._inner.roll_back()

    def for_turn(self, trace_id: str) -> Self:
        return self._around(self._inner.for_turn(trace_id))
