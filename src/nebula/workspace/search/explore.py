"""List and search through the jail: names come from a walk, everything else from the opened files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop
from typing import TYPE_CHECKING, Final

from nebula.files.beneath import FILE_FLAGS
from nebula.files.descriptors import closed_after
from nebula.git import find_repository
from nebula.value import value
from nebula.workspace.contract import FileEntry, Listing, SearchHits
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.jail import Jail
from nebula.workspace.guard.paths import NormalPath, normal_path

if TYPE_CHECKING:
    from nebula.workspace.search.walk import Engine, Walked

SNIFFED_BYTES: Final = 8_000
"""A zero byte among the first so many marks a binary file, as for git."""
_CHUNK = 1 << 20

MayRead = Callable[[NormalPath], bool]


@value
class Explorer:
    jail: Jail
    engine: Engine | None = None

    def list_folder(self, path: NormalPath, fd: int, extensions: tuple[str, ...] | None, cap: int) -> Listing:
        """Return the first entries in order: however many there are, only those are judged and opened."""
        names = [name for name in os.listdir(fd) if extensions is None or name.lower().endswith(extensions)]
        heapify(names)
        files: list[FileEntry] = []
        odd = 0
        while names and len(files) <= cap:
            name = heappop(names)
            place = self._named(path, name)
            if place is None:
                odd += 1
            elif not place.standing.untouchable and _wanted(entry := self._entry(name, fd, place), extensions):
                files.append(entry)
        return _listing(path.text, files, cap, odd)

    def list_tree(self, path: NormalPath, fd: int, extensions: tuple[str, ...] | None, cap: int) -> Listing:
        try:
            found = self._walked(path, fd)
        except TimeoutError:
            return Listing(path.text, (), True, "The listing took too long; choose a smaller directory.")
        files: list[FileEntry] = []
        seen: set[str] = set()
        odd = 0
        for place in self._judged(path, found.names):
            if place is None:
                odd += 1
                continue
            size = None if extensions and not place.name.lower().endswith(extensions) else self._text_size(place)
            if size is None:
                continue
            if not extensions:
                files += _folders_above(path, place, seen)
            relative = "/".join(place.parts[len(path.parts) :])
            files.append(FileEntry(relative, place.text, is_dir=False, size=size))
            if len(files) > cap:
                break
        return _listing(path.text, files, cap, odd, found.remark)

    def search(self, path: NormalPath, fd: int, keyword: str, may_read: MayRead, cap: int) -> SearchHits:
        try:
            found = self._walked(path, fd, keyword)
        except TimeoutError:
            return SearchHits((), True, "The search took too long; choose a smaller directory.")
        needle = keyword.encode()
        places = (place for place in self._judged(path, found.names) if place is not None and may_read(place))
        hits = (place.text for place in places if self._contains(place, needle))
        files = tuple(name for name, _ in zip(hits, range(cap), strict=False))
        if len(files) == cap and next(hits, None) is not None:
            return SearchHits(files, True, f"More than {cap} files match, the first are shown; narrow the search.")
        return SearchHits(files, remark=found.remark or None)

    def _walked(self, path: NormalPath, fd: int, keyword: str = "") -> Walked:
        """Walk the tree; ignore rules above the root count only if they belong to the same repository."""
        from nebula.workspace.search.walk import best_engine

        root = self.jail.root
        engine = self.engine or best_engine(root)
        use_parents = bool(path.parts) or find_repository(root) is not None
        return engine.files(fd, os.path.join(root, *path.parts), use_parents=use_parents, keyword=keyword)

    def _named(self, path: NormalPath, name: str) -> NormalPath | None:
        try:
            return normal_path("/".join((*path.parts, name)))
        except WorkspaceError:
            return None  # a name that no caller could pass back to us

    def _judged(self, path: NormalPath, names: Iterable[bytes]) -> Iterator[NormalPath | None]:
        """Yield the paths in order, each judged when it is asked for; None for a name that cannot be used."""
        for name in sorted(names, key=lambda name: name.replace(b"/", b"\0")):  # folder by folder
            place = self._named(path, os.fsdecode(name))
            if place is None or not place.standing.untouchable:
                yield place

    def _entry(self, name: str, folder: int, place: NormalPath) -> FileEntry:
        status = self._status(name, folder, place)
        is_dir = status is not None and stat.S_ISDIR(status.st_mode)
        size = status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None
        return FileEntry(name, place.text, is_dir, size)

    def _status(self, name: str, folder: int, place: NormalPath) -> os.stat_result | None:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            return self.jail.status(self.jail.resolve(place)) if stat.S_ISLNK(status.st_mode) else status
        except (OSError, WorkspaceError):
            return None  # gone in the meantime, or a link that leads out: only its name is known

    def _opened(self, place: NormalPath) -> int | None:
        try:
            return self.jail.open_plain(place, FILE_FLAGS)
        except OSError:
            return None  # a link, unreadable, or gone in the meantime

    def _text_size(self, place: NormalPath) -> int | None:
        """Return the size of a text file; None for anything else."""
        fd = self._opened(place)
        if fd is None:
            return None
        with closed_after(fd):
            status = os.fstat(fd)
            is_text = stat.S_ISREG(status.st_mode) and b"\0" not in os.read(fd, SNIFFED_BYTES)
            return status.st_size if is_text else None

    def _contains(self, place: NormalPath, needle: bytes) -> bool:
        fd = self._opened(place)
        if fd is None:
            return False
        with closed_after(fd):
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return False
            chunk = os.read(fd, _CHUNK)
            if b"\0" in chunk[:SNIFFED_BYTES]:
                return False
            while chunk:
                if needle in chunk:
                    return True
                more = os.read(fd, _CHUNK)
                chunk = chunk[len(chunk) - len(needle) + 1 :] + more if more else b""
            return False


def _folders_above(path: NormalPath, place: NormalPath, seen: set[str]) -> Iterator[FileEntry]:
    for depth in range(len(path.parts) + 1, len(place.parts)):
        folder = "/".join(place.parts[:depth])
        if folder not in seen:
            seen.add(folder)
            yield FileEntry("/".join(place.parts[len(path.parts) : depth]), folder, is_dir=True)


def _wanted(entry: FileEntry, extensions: tuple[str, ...] | None) -> bool:
    return extensions is None or (not entry.is_dir and entry.name.lower().endswith(extensions))


def _listing(path: str, files: Sequence[FileEntry], cap: int, odd: int, remark: str = "") -> Listing:
    remarks = [remark] if remark else []
    if len(files) > cap:
        remarks.append(f"There are more than {cap} entries, the first are shown; list a smaller directory.")
    if odd:
        remarks.append(f"{odd} entries have names that cannot be used here and are left out.")
    return Listing(path, tuple(files[:cap]), len(files) > cap, " ".join(remarks) or None)
