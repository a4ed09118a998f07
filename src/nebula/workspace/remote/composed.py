"""Operations that a gateway with only the seed's three endpoints lacks, composed of those.

Costs and limits: a recursive listing makes one request a folder and ignores `.gitignore`, and binary files are in it; a
search also reads every file below the directory. Both stop at MAX_FOLDERS and MAX_READ and report that. A state is
found by reading. A write that is bound to what the caller saw is compared just before it is sent: another writer can
still come between, which our own gateway rules out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from nebula.files.digest import digest
from nebula.files.protected_names import UNTOUCHABLE, fold_name
from nebula.workspace.contract import (
    DEFAULT_LIST_ITEMS,
    FileEntry,
    FileText,
    Listing,
    PathState,
    SearchHits,
    WriteMode,
    WriteResult,
)
from nebula.workspace.errors import (
    AlreadyExists,
    ExtensionRefused,
    Forbidden,
    MalformedRequest,
    NotUtf8,
    PathNotFound,
    Stale,
    TooLarge,
    WorkspaceError,
)
from nebula.workspace.guard.paths import normal_path

if TYPE_CHECKING:
    from nebula.workspace.remote.workspace import RemoteWorkspace

MAX_FOLDERS: Final = 500
MAX_READ: Final = 2_000
_CUT = f"Only {MAX_FOLDERS} directories were looked into; choose a smaller one."
_UNSIFTED = "This gateway cannot tell what git ignores; everything it lists is here."


def list_tree(gateway: RemoteWorkspace, path: str, extensions: Sequence[str] | None, max_items: int | None) -> Listing:
    base = normal_path(path)
    cap = max_items or DEFAULT_LIST_ITEMS
    kinds = tuple(kind.lower() if kind.startswith(".") else f".{kind.lower()}" for kind in extensions or ())
    files: list[FileEntry] = []
    walk = _Walk(gateway, path)
    for entry in walk:
        if kinds and (entry.is_dir or not entry.name.lower().endswith(kinds)):
            continue
        name = "/".join(entry.path.split("/")[len(base.parts) :])
        files.append(FileEntry(name, entry.path, entry.is_dir, entry.size))
        if len(files) > cap:
            break
    files.sort(key=lambda entry: entry.path.split("/"))
    if len(files) > cap:
        more = f"There are more than {cap} entries, some are shown; list a smaller directory."
        return Listing(base.text, tuple(files[:cap]), True, more)
    if walk.was_cut:
        return Listing(base.text, tuple(files), True, _CUT)
    return Listing(base.text, tuple(files), remark=_UNSIFTED)


def search(gateway: RemoteWorkspace, directory: str, keyword: str, max_files: int) -> SearchHits:
    if not isinstance(keyword, str) or not keyword:
        raise MalformedRequest("The keyword must be a string of at least 1 character.")
    hits: list[str] = []
    read = 0
    walk = _Walk(gateway, directory)
    for entry in walk:
        if entry.is_dir:
            continue
        read += 1
        if read > MAX_READ:
            return SearchHits(
                tuple(sorted(hits)), True, f"Only {MAX_READ} files were looked at; choose a smaller directory."
            )
        try:
            found = keyword in gateway.read_file(entry.path).content
        except (ExtensionRefused, Forbidden, PathNotFound, NotUtf8, TooLarge):
            continue
        if found:
            hits.append(entry.path)
        if len(hits) > max_files:
            remark = f"More than {max_files} files match, some are shown; narrow the search."
            return SearchHits(tuple(sorted(hits[:max_files])), True, remark)
    return SearchHits(tuple(sorted(hits)), walk.was_cut, _CUT if walk.was_cut else None)


def probe(gateway: RemoteWorkspace, path: str) -> PathState:
    place = normal_path(path).text
    try:
        text = gateway.read_file(path)
    except PathNotFound:
        return _folder_or_missing(gateway, path)
    except (NotUtf8, TooLarge):
        return PathState(place, "file")
    except WorkspaceError as refused:
        state = _folder_or_missing(gateway, path)
        return state if state.kind == "directory" else _as_listed(gateway, path, refused)
    return PathState(place, "file", text.size, text.sha256)


def check_write(gateway: RemoteWorkspace, path: str, mode: WriteMode) -> PathState:
    place = normal_path(path).text
    try:
        text = gateway.read_file(path)
    except PathNotFound:
        state = _folder_or_missing(gateway, path)
        if state.kind == "directory":
            raise AlreadyExists("{path}: is a directory; choose another name.", path=place) from None
        return state
    if mode == "create":
        raise AlreadyExists("{path}: exists already; overwrite it or choose another name.", path=place)
    return PathState(place, "file", text.size, text.sha256)


def write_file(gateway: RemoteWorkspace, path: str, content: str, mode: WriteMode, expected: str | None) -> WriteResult:
    try:
        before: FileText | None = gateway.read_file(path)
    except (PathNotFound, NotUtf8, TooLarge):
        before = None
    if expected is not None and expected != (before.sha256 if before else ""):
        raise Stale("{path}: is not what it was when it was read; read it again.", path=normal_path(path).text)
    gateway.send_write(path, content, mode)
    data = content.encode()
    if mode == "append" and before is not None:
        data = before.content.encode() + data
    return WriteResult(normal_path(path).text, before.sha256 if before else None, digest(data), len(data))


class _Walk:
    """Walks the folders breadth first, so that a limit leaves out the deepest ones."""

    def __init__(self, gateway: RemoteWorkspace, path: str) -> None:
        self._gateway = gateway
        self._waiting = deque([path])
        self.was_cut = False
        """There were more folders than the walk looks into."""

    def __iter__(self) -> Iterator[FileEntry]:
        for _ in range(MAX_FOLDERS):
            if not self._waiting:
                return
            listing = self._gateway.list_files(self._waiting.popleft())
            self.was_cut = self.was_cut or listing.truncated
            for entry in listing.files:
                if fold_name(entry.name) in UNTOUCHABLE:
                    continue
                yield entry
                if entry.is_dir:
                    self._waiting.append(entry.path)
        self.was_cut = self.was_cut or bool(self._waiting)


def _folder_or_missing(gateway: RemoteWorkspace, path: str) -> PathState:
    place = normal_path(path).text
    try:
        gateway.list_files(path, max_items=1)
    except PathNotFound:
        return PathState(place, "missing")
    return PathState(place, "directory")


def _as_listed(gateway: RemoteWorkspace, path: str, refused: WorkspaceError) -> PathState:
    """Return the state of a file that may not be read, as its folder lists it."""
    place = normal_path(path)
    if not isinstance(refused, ExtensionRefused | Forbidden):
        raise refused
    try:
        entries = gateway.list_files("/".join(place.parts[:-1]) or ".").files
    except PathNotFound:
        return PathState(place.text, "missing")
    for entry in entries:
        if entry.name == place.name:
            return PathState(place.text, "file", entry.size)
    return PathState(place.text, "missing")
