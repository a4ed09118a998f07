"""The code index, as configured for a project. Files that may hold secrets are not in it."""

from __future__ import annotations

import os
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Protocol

from nebula.errors import NebulaError
from nebula.events import new_trace_id
from nebula.files.home import derived_folder
from nebula.files.protected_names import names_secret
from nebula.tools.code.code_outline import MAX_KEPT_FILES, keep_outline, leave_outline
from nebula.workspace.audit import AuditLog
from nebula.workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from nebula.config import Settings
    from nebula.index.index import Index
    from nebula.index.ranking.outline import OutlinedFile


STATE_HEADER = "x-index-state"
"""The header in which an index server sends its state, which changes with the index."""


def open_index(settings: Settings) -> Index:
    """Return the index of the project. Raises IndexFailed where a database cannot be reached, or where there is no such
    embedder."""
    from nebula.index.index import Index

    index = Index.open(settings.root, home=settings.home, url=settings.index_url, hides=names_secret)
    index.heard_renames = lambda asked, held: _note_renames(settings, asked, held)
    if settings.index_url:
        index.heard_sync = lambda: leave_outline(settings, index)
    if settings.embedder:
        from nebula.index.embedders.choose import earlier_embedders, make_embedder

        try:
            chosen = make_embedder(settings.embedder, settings)
            earlier = [name for name in index.store.models() if name != chosen.name]
            index.embedders = (chosen, *earlier_embedders(earlier, settings))
        except BaseException:
            index.close()
            raise
    return index


def _note_renames(settings: Settings, asked: int, held: int) -> None:
    """Record renames in the audit log, from which figures are made; where that fails the index works nevertheless."""
    wanted = settings.root, settings.audit_log, settings.secrets
    with suppress(WorkspaceError), closing(AuditLog(*wanted)) as audit:
        audit.record(new_trace_id(), "rename", "", None, 200, (asked, held))


class CodeSearch(Protocol):
    """Searches the code: in the index on this machine, or in one behind EC_RAG_URL."""

    def is_new(self) -> bool:
        """Return whether the first search has to build an index, which may take a while."""
        ...

    def search(self, question: str, limit: int, path_prefix: str, trace_id: str) -> list[dict[str, Any]]:
        """Return chunks in the form of `/search`. Raises NebulaError."""
        ...

    def changed(self, path: str) -> None:
        """Note that a tool changed this file."""
        ...

    def close(self) -> None: ...


def code_search(settings: Settings) -> CodeSearch | None:
    """Return the search; None where the files are behind a gateway and no index is configured: an index on this machine
    would be of other files."""
    if settings.rag_url:
        return RemoteCode(settings)
    return None if settings.mcp_url else LocalCode(settings)


class LocalCode:
    """The index of this project: opened for the first question, brought in step with the files before each."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._index: Index | None = None
        self._guard = threading.Lock()  # only one thread at a time may use an index
        self._stop = threading.Event()

    def is_new(self) -> bool:
        with self._guard:
            return not self._open().status().files

    def search(self, question: str, limit: int, path_prefix: str, trace_id: str) -> list[dict[str, Any]]:
        with self._guard:
            index = self._open()
            index.sync()
            return [hit.to_json() for hit in index.search(question, limit, path_prefix=path_prefix)]

    def changed(self, path: str) -> None:
        """Queue the file for the process that has the index open, such as a running server; do nothing where there is
        no index."""
        if has_index(self._settings):
            from nebula.index.in_step.queue import Queue

            Queue(self._settings.root, self._settings.home).add([path])

    def close(self) -> None:
        """Close the index for good. What another thread reads for it ends soon; the next look at the files finds the
        rest."""
        self._stop.set()
        with self._guard:
            index, self._index = self._index, None
        if index is not None:
            index.close()

    def _open(self) -> Index:
        if self._index is None:
            self._index = open_index(self._settings)
            self._index.stop_by(self._stop)
        return self._index


class RemoteCode:
    """An index server. If its answer names its state, it also has an outline, which is fetched after the answer."""

    def __init__(self, settings: Settings) -> None:
        from nebula.workspace.remote.client import GatewayClient

        self._settings = settings
        self._client = GatewayClient(settings.rag_url, settings.token, "EC_RAG_URL")
        self._state = ""
        self.asking: threading.Thread | None = None

    def is_new(self) -> bool:
        return False

    def search(self, question: str, limit: int, path_prefix: str, trace_id: str) -> list[dict[str, Any]]:
        body = {"query": question, "top_k": limit, "filters": {"path_prefix": path_prefix} if path_prefix else {}}
        answer = self._client.call("search", body, trace_id)
        state = answer.headers.get(STATE_HEADER, self._state)
        if state != self._state:
            self._state = state
            self.asking = threading.Thread(target=self._keep_outline, args=(state, trace_id), daemon=True)
            self.asking.start()
        found = answer.body.get("chunks")
        return [chunk for chunk in found if isinstance(chunk, dict)] if isinstance(found, list) else []

    def _keep_outline(self, state: str, trace_id: str) -> None:
        with suppress(NebulaError, OSError):  # the outline only helps
            keep_outline(self._settings, state, lambda: self._outline(trace_id))

    def _outline(self, trace_id: str) -> list[OutlinedFile]:
        from nebula.index.ranking.outline import OutlinedFile

        found = self._client.call("outline", {"limit": MAX_KEPT_FILES}, trace_id).body.get("files")
        files = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
        return [OutlinedFile(str(each.get("path")), str(each.get("symbols") or "")) for each in files[:MAX_KEPT_FILES]]

    def changed(self, path: str) -> None:
        """Do nothing: a remote index follows its own files."""

    def close(self) -> None:
        self._client.close()


def has_index(settings: Settings) -> bool:
    """Return whether this project may have been indexed before, without opening anything."""
    return bool(settings.index_url) or has_local_index(settings)


def has_local_index(settings: Settings) -> bool:
    if settings.index_url or settings.rag_url or settings.mcp_url:
        return False
    return os.path.exists(os.path.join(derived_folder(settings.root, settings.home), "index.db"))
