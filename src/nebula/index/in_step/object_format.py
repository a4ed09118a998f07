"""The hash by which a repository names contents, from its configuration. Every search asks, so git is not run."""

from __future__ import annotations

import os
import re

from nebula.files.reading import UnreadableFile, read_below
from nebula.git import find_repository

_MAX_GIT_FILE = 4_096
_MAX_CONFIG = 1_000_000
_SHA256 = re.compile(rb"^[ \t]*objectformat[ \t]*=[ \t]*\"?sha256\"?[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


def object_format(root: str) -> str:
    """Return "sha256" where the repository that `root` lies in says so, else "sha1"."""
    place = find_repository(root)
    if place is None:
        return "sha1"
    folder = git_folder(*place)
    shared = _read(folder, "commondir", _MAX_GIT_FILE)  # of a linked work tree
    config = _read(os.path.join(folder, os.fsdecode(shared.strip())), "config", _MAX_CONFIG)
    return "sha256" if _SHA256.search(config) else "sha1"


def git_folder(work_tree: str, git_dir: str) -> str:
    """Return the folder of a repository. In a linked work tree and in a submodule `.git` is a file that names it."""
    if not os.path.isfile(git_dir):
        return git_dir
    named = _read(work_tree, ".git", _MAX_GIT_FILE).partition(b"gitdir:")[2].strip(b"\n ")
    return os.path.join(work_tree, os.fsdecode(named)) if named else git_dir


def _read(folder: str, name: str, limit: int) -> bytes:
    try:
        return read_below(folder, name, limit) or b""
    except (UnreadableFile, OSError, ValueError):
        return b""
