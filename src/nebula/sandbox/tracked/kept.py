"""Whether git would still keep of the masked files what it kept before the command.

Its marks keep git's hands off them, but a command can have git begin a new index, or a new repository. So what it
leaves is looked at: in no index and in no commit that it made may a masked file be what the command saw of it, or
what it wrote without having seen the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from nebula.sandbox.changes.git import is_git_path
from nebula.sandbox.changes.git_index import NotUnderstood, read_entries
from nebula.sandbox.changes.git_objects import FOLDER_MODE, NotAnObject, tree_entries, unpack
from nebula.sandbox.tracked.views import RepositoryView
from nebula.value import record

if TYPE_CHECKING:
    from nebula.sandbox.contract import LayerChange
    from nebula.sandbox.layer import Layer

_MOST_BYTES: Final = 16 << 20
_HEAD_BYTES: Final = 64
_PLAIN_VERSIONS: Final = (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")


def find_replaced(
    layer: Layer, git_files: Iterable[LayerChange], masks: Mapping[str, bytes], views: Collection[RepositoryView]
) -> tuple[str, ...]:
    """Return the masked files, as paths of the project, that `git_files` would have git keep as the command saw or
    wrote them."""
    left = [change.path for change in git_files if change.after is not None and change.after.kind == "file"]
    if not masks or not left:
        return ()
    made: dict[str, dict[str, str]] = {}
    for path in left:
        git_dir, found, name = path.partition("/objects/")
        if found and len(name) > 2 and name[2] == "/":
            made.setdefault(git_dir, {})[name.replace("/", "")] = path
    masked = {path: shown for path, shown in masks.items() if not is_git_path(path)}
    look = _Look(layer, masked, {name for each in made.values() for name in each})
    replaced: set[str] = set()
    folders = {view.index.removesuffix("/index"): view for view in views if view.index}
    for path in left:
        git_dir = path.removesuffix("/index")
        if git_dir != path and (git_dir in folders or f"/{git_dir}".endswith("/.git")):
            replaced |= look.in_index(path, folders.get(git_dir) or RepositoryView(git_dir.removesuffix(".git")))
    for git_dir, objects in made.items():
        replaced |= look.in_commits(objects, folders.get(git_dir) or RepositoryView(git_dir.removesuffix(".git")))
    return tuple(sorted(replaced))


@record
class _Look:
    layer: Layer
    masks: Mapping[str, bytes]
    made: Collection[str]
    """Names of the objects that the command made."""

    def in_index(self, path: str, view: RepositoryView) -> set[str]:
        folder, masked = view.folder, self._below(view.folder)
        if not view.known:
            return {folder + name for name in masked}
        data = self.layer.read(path, _MOST_BYTES * 4) if masked else b""
        if not data or (data.startswith(_PLAIN_VERSIONS) and not any(name.encode() in data for name in masked)):
            return set()
        try:
            return {
                folder + name
                for name, blob in ((_text(entry.name), entry.digest.hex()) for entry in read_entries(data))
                if self._is_replaced(view, name, blob)
            }
        except NotUnderstood:
            return {folder + name for name in masked}

    def in_commits(self, objects: Mapping[str, str], view: RepositoryView) -> set[str]:
        masked = self._below(view.folder)
        found: set[str] = set()
        for path in objects.values() if masked else ():
            try:
                unpack(self.layer.read(path, _HEAD_BYTES), "commit", _HEAD_BYTES)  # most are none
                commit = unpack(self.layer.read(path, _MOST_BYTES), "commit", _MOST_BYTES)
            except (NotAnObject, OSError):
                continue
            tree = commit.removeprefix(b"tree ").partition(b"\n")[0].decode("ascii", "replace")
            for name, blob in self._files(objects, tree, masked):
                if self._is_replaced(view, name, blob):
                    found.add(view.folder + name)
        return found

    def _files(
        self, objects: Mapping[str, str], tree: str, masked: Collection[str], above: str = ""
    ) -> Iterator[tuple[str, str]]:
        """Yield the masked files of a folder that the command made, and those in the folders in it."""
        if tree not in objects:
            return  # as it was
        try:
            content = unpack(self.layer.read(objects[tree], _MOST_BYTES), "tree", _MOST_BYTES)
            for mode, name, digest in tree_entries(content, len(tree) // 2):
                path = above + name
                if mode != FOLDER_MODE:
                    yield path, digest
                elif any(f"{each}/".startswith(f"{path}/") or f"{path}/".startswith(f"{each}/") for each in masked):
                    yield from self._files(objects, digest, masked, f"{path}/")
        except (NotAnObject, OSError):
            return

    def _below(self, folder: str) -> tuple[str, ...]:
        return tuple(path.removeprefix(folder) for path in self.masks if path.startswith(folder))

    def _is_replaced(self, view: RepositoryView, name: str, blob: str) -> bool:
        path, kept = view.folder + name, view.kept
        shown = self.masks.get(path)
        if shown is None and not any(path[:at] in self.masks for at, char in enumerate(path) if char == "/"):
            return False
        is_seen = shown is not None and blob == _blob_name(shown, len(blob))
        return (is_seen or blob in self.made) and blob not in kept.get(name, ())


def _blob_name(content: bytes, length: int) -> str:
    digest = hashlib.sha1 if length == 40 else hashlib.sha256
    return digest(b"blob %d\0" % len(content) + content).hexdigest()


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
