"""The hash by which a repository names contents, from its configuration. Every search asks, so git is not run."""

from __future__ import annotations

import re

from nebula.files.reading import read_or_empty
from nebula.git import find_repository, git_folders

_MAX_CONFIG = 1_000_000
_SHA256 = re.compile(rb"^[ \t]*objectformat[ \t]*=[ \t]*\"?sha256\"?[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


def object_format(root: str) -> str:
    """Return "sha256" where the repository that `root` lies in says so, else "sha1"."""
    place = find_repository(root)
    config = read_or_empty(git_folders(*place)[1], "config", _MAX_CONFIG) if place else b""
    return "sha256" if _SHA256.search(config) else "sha1"
