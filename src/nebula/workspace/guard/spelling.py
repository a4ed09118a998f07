"""Names that can be spelled in two ways: `é` is one character, or `e` and an accent.

macOS treats both as one file, Linux as two; whoever types a name, or a model that writes it, uses one of them. So a
name that does not exist stands for an existing name in another spelling, if there is exactly one: reading finds the
file, and writing makes no second one that nobody can tell from the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from nebula.files.beneath import FOLDER_FLAGS, OpenBeneath, open_beneath
from nebula.files.descriptors import closed_after
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.paths import NormalPath, normal_path


def spelled_as_there(opener: OpenBeneath, root_fd: int, path: NormalPath) -> NormalPath:
    """Return the path with its names spelled as on the disk, as far as they exist."""
    if path.text.isascii():
        return path
    parts = list(path.parts)
    for depth, name in enumerate(path.parts):
        if not name.isascii():
            try:
                parts[depth] = _find_name(opener, root_fd, parts[:depth], name)
            except OSError:
                break  # not a folder, not readable, or behind a link
    if tuple(parts) == path.parts:
        return path
    return normal_path("/".join(parts) + ("/" if path.names_directory else ""))


def spelled_in(root: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Return paths below `root` with names spelled as on the disk; an invalid path is returned unchanged, for others to
    refuse."""
    with closed_after(os.open(root, FOLDER_FLAGS & ~os.O_NOFOLLOW)) as handle:
        return tuple(_spell_as_on_disk(handle, path) for path in paths)


def _spell_as_on_disk(root_fd: int, path: str) -> str:
    try:
        return spelled_as_there(open_beneath, root_fd, normal_path(path)).text
    except WorkspaceError:
        return path


def _find_name(opener: OpenBeneath, root_fd: int, above: list[str], name: str) -> str:
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
