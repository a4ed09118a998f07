"""Make a throw-away copy of a project: the files that git tracks or would track, without `.git` and `.nebula`.

Links are copied as links; pipes and devices are not copied. A file that cannot be read is left out: the copy is only
looked at and never copied back.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress

from nebula.files.descriptors import closed_after
from nebula.git import find_repository
from nebula.workspace.search.walk import best_engine


def files_to_copy(root: str) -> list[str]:
    """Return the paths that git tracks or would track, without `.git` and `.nebula`."""
    with closed_after(os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as folder:
        in_repository = find_repository(root) is not None
        return [os.fsdecode(name) for name in best_engine(root).files(folder, root, use_parents=in_repository).names]


def copy_project(root: str, target: str) -> None:
    """Copy the project to `target`, which is created; it must not be inside the project."""
    os.makedirs(target, exist_ok=True)
    for path in files_to_copy(root):
        with suppress(OSError):  # gone in the meantime, or not readable for us
            _copy(os.path.join(root, path), os.path.join(target, path))


def _copy(source: str, target: str) -> None:
    mode = os.lstat(source).st_mode
    if stat.S_ISDIR(mode):
        os.makedirs(target, exist_ok=True)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISREG(mode):
        shutil.copy2(source, target, follow_symlinks=False)
