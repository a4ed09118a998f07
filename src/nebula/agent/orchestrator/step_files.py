"""The files that a step declares: the step is done only when they exist."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from nebula.language import Sentence
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError

_PATTERN = frozenset("*?[")


def missing_files(declared: Iterable[str], files: Workspace, removed: Collection[str] = ()) -> list[str]:
    """Return the declared paths that do not exist, except those that the work itself `removed`. A path may be a folder,
    or a pattern (`src/*.py`), for which one file is enough."""
    paths = [path.removeprefix("./") for path in dict.fromkeys(declared)]
    return [path for path in paths if path not in removed and not _is_there(path, files)]


def not_there(paths: Sequence[str]) -> Sentence:
    return Sentence("Files that the plan declares are not there: {paths}", paths=", ".join(paths))


def _is_there(path: str, files: Workspace) -> bool:
    try:
        if files.probe(path).kind != "missing":
            return True
        if _PATTERN.isdisjoint(path):
            return False
        return any(fnmatchcase(each.path, path) for each in files.list_files(recursive=True).files)
    except WorkspaceError:  # not a path of this project
        return False
