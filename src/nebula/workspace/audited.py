"""A workspace that leaves a line in the audit log for each call, however it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from nebula.workspace.audit import AuditLog
from nebula.workspace.contract import (
    DEFAULT_SEARCH_FILES,
    FileState,
    FileText,
    Listing,
    SearchHits,
    Workspace,
    WriteMode,
    WriteResult,
)
from nebula.workspace.errors import WorkspaceError

Result = TypeVar("Result")


class AuditedWorkspace:
    def __init__(self, inner: Workspace, log: AuditLog, trace_id: str = "") -> None:
        self._inner = inner
        self._log = log
        self._trace_id = trace_id

    @property
    def read_only(self) -> bool:
        return self._inner.read_only

    def list_files(
        self,
        path: str = ".",
        *,
        recursive: bool = False,
        extensions: Sequence[str] | None = None,
        max_items: int | None = None,
    ) -> Listing:
        def call() -> Listing:
            return self._inner.list_files(path, recursive=recursive, extensions=extensions, max_items=max_items)

        return self._audited("list_files", path, call, lambda _: None)

    def read_file(self, path: str) -> FileText:
        return self._audited("read_file", path, lambda: self._inner.read_file(path), lambda text: text.size)

    def write_file(
        self, path: str, content: str, mode: WriteMode = "create", *, expected: str | None = None
    ) -> WriteResult:
        def call() -> WriteResult:
            return self._inner.write_file(path, content, mode, expected=expected)

        return self._audited("write_file", path, call, lambda result: result.size)

    def search(self, directory: str, keyword: str, *, max_files: int = DEFAULT_SEARCH_FILES) -> SearchHits:
        def call() -> SearchHits:
            return self._inner.search(directory, keyword, max_files=max_files)

        return self._audited("search", directory, call, lambda _: None)

    def probe(self, path: str) -> FileState:
        return self._inner.probe(path)

    def exists(self, path: str) -> bool:
        return self._inner.exists(path)

    def check_write(self, path: str, mode: WriteMode, content: str | None = None) -> FileState:
        """A refusal here is where a write ends, so it is recorded like one; leave to write is not."""
        try:
            return self._inner.check_write(path, mode, content)
        except WorkspaceError as error:
            self._log.record(self._trace_id, "write_file", str(path), None, error.status)
            raise

    def for_turn(self, trace_id: str) -> AuditedWorkspace:
        return AuditedWorkspace(self._inner.for_turn(trace_id), self._log, trace_id)

    def allowing(self, path: str) -> AuditedWorkspace:
        return AuditedWorkspace(self._inner.allowing(path), self._log, self._trace_id)

    def _audited(
        self, method: str, path: str, call: Callable[[], Result], size: Callable[[Result], int | None]
    ) -> Result:
        try:
            result = call()
        except WorkspaceError as error:
            self._log.record(self._trace_id, method, str(path), None, error.status)
            raise
        self._log.record(self._trace_id, method, str(path), size(result), 200)
        return result
