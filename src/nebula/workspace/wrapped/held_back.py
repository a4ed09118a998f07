"""A workspace that holds its writes back, to show what somebody would do.

Whoever works in it sees their own writes when they read, list or search, and everything is judged as if it were
written; the files themselves stay as they are.
"""

from __future__ import annotations

from typing import Self

from nebula.files.digest import digest
from nebula.files.protected_names import names_secret
from nebula.messages.redaction import SECRET_CONTENT
from nebula.value import replace
from nebula.workspace.contract import (
    DEFAULT_SEARCH_FILES,
    FileEntry,
    FileLines,
    FileText,
    Kinds,
    Listing,
    PathState,
    SearchHits,
    Workspace,
    WriteMode,
    WriteResult,
    read_if_any,
)
from nebula.workspace.diff import TextDiff, diff_texts
from nebula.workspace.errors import AlreadyExists, PathNotFound, Stale
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.wrapped.base import WrappedWorkspace


class HeldBackWorkspace(WrappedWorkspace):
    def __init__(self, inner: Workspace, held: dict[str, str] | None = None) -> None:
        super().__init__(inner)
        self._held: dict[str, str] = {} if held is None else held
        """Path → its new content."""

    @property
    def read_only(self) -> bool:
        return False

    def forecast(self) -> list[TextDiff]:
        """Return what would change, file by file; for a secret file only that it would."""
        return [diff for diff in map(self._forecast_file, sorted(self._held)) if diff.text]

    def _forecast_file(self, path: str) -> TextDiff:
        old, new = self._present(path), self._held[path]
        if names_secret(path) and old != new:
            old, new = None if old is None else "", f"{SECRET_CONTENT}\n"
        return diff_texts(path, old, new)

    def read_file(self, path: str) -> FileText:
        place = normal_path(path)
        if place.text not in self._held:
            return super().read_file(path)
        content = self._held[place.text]
        data = content.encode()
        return FileText(place.text, content, digest(data), len(data), place.standing.secret)

    def read_lines(self, path: str, first: int, last: int | None = None) -> FileLines:
        if normal_path(path).text not in self._held:
            return super().read_lines(path, first, last)
        return FileLines.of(self.read_file(path), first, last)

    def write_file(
        self, path: str, content: str, mode: WriteMode = "create", *, expected: str | None = None
    ) -> WriteResult:
        if mode == "append":
            self.check_write(path, mode, content)  # a file that cannot be read whole is not an empty one
            content, mode = (self._present_or_held(path) or "") + content, "overwrite"
        state = self.check_write(path, mode, content)
        if expected is not None and expected != state.expected:
            raise Stale("{path}: is not what it was when it was read; read it again.", path=state.path)
        data = content.encode()
        self._held[state.path] = content
        return WriteResult(state.path, state.sha256, digest(data), len(data))

    def check_write(self, path: str, mode: WriteMode, content: str | None = None) -> PathState:
        place = normal_path(path).text
        if place not in self._held:
            return super().check_write(path, mode, content)
        if mode == "create":
            raise AlreadyExists("{path}: exists already; overwrite it or choose another name.", path=place)
        state = super().check_write(path, "overwrite", content)
        held = self._held[place]
        data = held.encode()
        return replace(state, kind="file", size=len(data), sha256=digest(data), content=held)

    def list_files(
        self, path: str = ".", *, recursive: bool = False, extensions: Kinds = None, max_items: int | None = None
    ) -> Listing:
        base = normal_path(path).text
        added = self._entries(base, recursive=recursive, extensions=extensions)
        try:
            found = super().list_files(path, recursive=recursive, extensions=extensions, max_items=max_items)
        except PathNotFound:
            if not added:
                raise
            found = Listing(base, ())
        known = {entry.path for entry in found.files}
        files = [*found.files, *(entry for entry in added if entry.path not in known)]
        return replace(found, files=tuple(sorted(files, key=lambda entry: entry.path.split("/"))))

    def search(self, directory: str, keyword: str, *, max_files: int = DEFAULT_SEARCH_FILES) -> SearchHits:
        found = super().search(directory, keyword, max_files=max_files)
        below = self._below(normal_path(directory).text)
        hits = {each for each in found.files if each not in self._held}
        hits |= {each for each in below if keyword in self._held[each]}
        return replace(found, files=tuple(sorted(hits)))

    def probe(self, path: str) -> PathState:
        place = normal_path(path).text
        if place in self._held:
            return PathState(place, "file", len(self._held[place].encode()))
        state = super().probe(path)
        return PathState(place, "directory") if state.kind == "missing" and self._below(place) else state

    def roll_back(self) -> tuple[str, ...]:
        paths = tuple(sorted(self._held))
        self._held.clear()
        return paths

    def _around(self, inner: Workspace) -> Self:
        return type(self)(inner, self._held)

    def _present_or_held(self, path: str) -> str | None:
        place = normal_path(path).text
        return self._held[place] if place in self._held else self._present(path)

    def _present(self, path: str) -> str | None:
        file = read_if_any(self._inner, path)
        return None if file is None else file.content

    def _below(self, base: str) -> list[str]:
        return [path for path in self._held if base == "." or path.startswith(f"{base}/")]

    def _entries(self, base: str, *, recursive: bool, extensions: Kinds) -> list[FileEntry]:
        kinds = tuple(f".{each.lstrip('.').lower()}" for each in extensions or ())
        entries: dict[str, FileEntry] = {}
        for path in self._below(base):
            name = path if base == "." else path[len(base) + 1 :]
            folder, slash, _ = name.partition("/")
            if slash and not recursive:
                place = folder if base == "." else f"{base}/{folder}"
                if not kinds:
                    entries[place] = FileEntry(folder, place, True)
            elif not kinds or path.lower().endswith(kinds):
                entries[path] = FileEntry(name, path, False, len(self._held[path].encode()))
        return list(entries.values())
