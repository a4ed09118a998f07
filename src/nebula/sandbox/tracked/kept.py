"""Whether git would still keep of the masked files what it kept before the command.

Its marks keep git's hands off them, but a command can have git begin a new index, or a new repository. So what it
leaves is looked at: in no index and in no commit that it made may a masked file be what the command saw of it, or
what it wrote without having seen the file; and no secret file of another name may be what it saw of a masked one, of
which it is a copy then.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from nebula.git import GitFailed
from nebula.sandbox.changes.git import is_git_path
from nebula.sandbox.changes.git_index import NotUnderstood, read_entries
from nebula.sandbox.contract import LayerChange
from nebula.sandbox.layer import Layer
from nebula.sandbox.tracked.made_objects import MadeObjects, changed_in_commits, find_made
from nebula.sandbox.tracked.views import PLAIN_VERSIONS, RepositoryView, is_masked
from nebula.value import record

_MOST_BYTES: Final = 64 << 20
_DIGEST_BYTES: Final = (20, 32)


def find_replaced(
    layer: Layer,
    git_files: Iterable[LayerChange],
    masks: Mapping[str, bytes],
    views: Collection[RepositoryView],
    is_secret: Callable[[str], bool],
) -> tuple[str, ...]:
    """Return the secret files, as paths of the project, that `git_files` would have git keep as the command saw or
    wrote them."""
    left = [change.path for change in git_files if change.after is not None and change.after.kind == "file"]
    masked = {path: shown for path, shown in masks.items() if not is_git_path(path)}
    if not masked or not left:
        return ()
    folders = {view.index.removesuffix("/index"): view for view in views if view.index}

    def view_of(git_dir: str) -> RepositoryView:
        return folders.get(git_dir) or RepositoryView(git_dir.removesuffix(".git"))

    made = find_made(layer, left)
    look = _Look(layer, masked, frozenset().union(*(each.names for each in made)), is_secret)
    replaced: set[str] = set()
    for path in left:
        git_dir = path.removesuffix("/index")
        if git_dir != path and (git_dir in folders or f"/{git_dir}".endswith("/.git")):
            replaced |= look.in_index(path, view_of(git_dir))
    for each in made:
        replaced |= look.in_commits(each, view_of(each.git_dir))
    return tuple(sorted(replaced))


@record
class _Look:
    layer: Layer
    masks: Mapping[str, bytes]
    made: Collection[str]
    """Names of the objects that the command made."""
    is_secret: Callable[[str], bool]

    def in_index(self, path: str, view: RepositoryView) -> set[str]:
        masked = self._below(view)
        if not view.known:
            return masked
        data = self.layer.read(path, _MOST_BYTES) if masked else b""
        if not data or (data.startswith(PLAIN_VERSIONS) and not self._may_name(data, masked, view)):
            return set()
        try:
            return self._replaced(view, ((os.fsdecode(entry.name), entry.digest.hex()) for entry in read_entries(data)))
        except NotUnderstood:
            return masked

    def in_commits(self, made: MadeObjects, view: RepositoryView) -> set[str]:
        masked = self._below(view)
        try:
            return self._replaced(view, changed_in_commits(self.layer, made)) if masked else set()
        except GitFailed:
            return masked

    def _below(self, view: RepositoryView) -> set[str]:
        return {path for path in self.masks if path.startswith(view.folder)}

    def _may_name(self, index: bytes, masked: Iterable[str], view: RepositoryView) -> bool:
        """Return whether an index may name a masked file, or hold what the command saw of one: most do neither."""
        seen = {_digest(shown, length) for shown in self.masks.values() for length in _DIGEST_BYTES}
        return any(path[len(view.folder) :].encode() in index for path in masked) or any(each in index for each in seen)

    def _replaced(self, view: RepositoryView, files: Iterable[tuple[str, str]]) -> set[str]:
        return {view.folder + name for name, blob in files if self._is_replaced(view, name, blob)}

    def _is_replaced(self, view: RepositoryView, name: str, blob: str) -> bool:
        path = view.folder + name
        if blob in view.kept.get(name, ()):
            return False
        if path in self.masks:
            return blob in self.made or _is_of(blob, self.masks[path])
        if is_masked(path, self.masks):
            return blob in self.made
        return any(_is_of(blob, shown) for shown in set(self.masks.values())) and self.is_secret(path)


def _is_of(blob: str, content: bytes) -> bool:
    return blob == _digest(content, len(blob) // 2).hex()


def _digest(content: bytes, length: int) -> bytes:
    digest = hashlib.sha1 if length == _DIGEST_BYTES[0] else hashlib.sha256
    return digest(b"blob %d\0" % len(content) + content).digest()
