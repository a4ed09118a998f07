"""One name, two spellings: `é` is one letter, or `e` and an accent.

macOS takes both for one file, Linux for two; and who types a name, or a model that says it, has one of them. So a name
that is not there stands for the only one that is there in another spelling: what is read is found, and what is written
makes no twin that nobody can tell from the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from nebula.files.beneath import FOLDER_FLAGS, OpenBeneath, open_beneath
from nebula.files.descriptors import closed_after
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.paths import NormalPath, normal_path


def spelled_as_there(opener: OpenBeneath, root_fd: int, path: NormalPath) -> NormalPath:
    """Return the path as its names are spelled on the disk, as far as they are there."""
    if path.text.isascii():
        return path
    parts = list(path.parts)
    for depth, name in enumerate(path.parts):
        if not name.isascii():
            try:
                parts[depth] = _name_there(opener, root_fd, parts[:depth], name)
            except OSError:
                break  # no folder, not one that can be read, or behind a link
    if tuple(parts) == path.parts:
        return path
    return normal_path("/".join(parts) + ("/" if path.names_directory else ""))


def spelled_in(root: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Return paths below `root`, each as it is spelled there; what is no path stays for somebody else to refuse."""
    paths = tuple(map(_normal, paths))
    if all(map(str.isascii, paths)):
        return paths
    with closed_after(os.open(root, FOLDER_FLAGS & ~os.O_NOFOLLOW)) as handle:
        return tuple(_spelled(handle, path) for path in paths)


def _normal(path: str) -> str:
    try:
        return normal_path(path).text
    except WorkspaceError:
        return path


def _spelled(root_fd: int, path: str) -> str:
    try:
        return spelled_as_there(open_beneath, root_fd, normal_path(path)).text
    except WorkspaceError:
        return path


def _name_there(opener: OpenBeneath, root_fd: int, above: list[str], name: str) -> str:
    with closed_after(opener(root_fd, above, FOLDER_FLAGS)) as folder:
        try:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            twins = _in_other_spelling(os.listdir(folder), name)
            return twins[0] if len(twins) == 1 else name
        return name


def _in_other_spelling(names: Iterable[str], name: str) -> list[str]:
    from unicodedata import normalize  # most names are plain ASCII

    composed = normalize("NFC", name)
    return [each for each in names if not each.isascii() and normalize("NFC", each) == composed]
