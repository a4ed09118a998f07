"""Which files there are to index: what git tracks or would track, and without git what lies in the folder.

Only git knows which files are ignored, and whether a content is part of a commit; what a file holds is always read from
the file itself. Submodules and repositories inside are listed by their own git.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from nebula.git import GitFailed, ask_git, find_commit, find_repository, git_folders, innermost_repository, safe_git
from nebula.index.constants import GIT_TIMEOUT_S, MAX_NESTED_REPOSITORIES
from nebula.value import value

_NEVER = frozenset({".git", ".nebula", ".hg", ".svn"})
_NOT_OURS = frozenset(
    {"node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".pytest_cache", "target"}
)
"""Where there is no git to say what is ignored: folders that tools fill."""
_MOVED_BY_GIT = ("HEAD", "index", "logs/HEAD")


@value
class FileListing:
    paths: tuple[str, ...]
    """Below the root, sorted."""
    unnameable: tuple[str, ...] = ()
    """Files whose name is not UTF-8, as it can be shown: they cannot be asked for, but shall not go missing unsaid."""
    commit: str = ""
    """What HEAD is; "" without git or before the first commit."""


def list_files(root: str) -> FileListing:
    if find_repository(root) is not None:
        try:
            return _listing(_git_files(root, "", 0), find_commit(root))
        except GitFailed:
            pass  # what lies in the folder is listed without it
    return _listing(_walk(root))


def _listing(found: Iterator[str], commit: str = "") -> FileListing:
    paths = sorted(found)
    strange = [path for path in paths if not is_text(path)]
    if not strange:
        return FileListing(tuple(paths), (), commit)
    shown = tuple(os.fsencode(path).decode("utf-8", "backslashreplace") for path in strange)
    return FileListing(tuple(filter(is_text, paths)), shown, commit)


def list_some(root: str, paths: Sequence[str]) -> list[str]:
    """Return which of these files may be indexed, and for a directory all files below it."""
    if find_repository(root) is None:
        found = set()
        for path in paths:
            if _NEVER.isdisjoint(path.split("/")):
                is_folder = os.path.isdir(os.path.join(root, path)) and not os.path.islink(os.path.join(root, path))
                found |= set(_walk(root, f"{path}/" if path else "")) if is_folder else {path}
        return sorted(filter(is_text, found))
    by_repository: dict[str, list[str]] = {}
    for path in paths:
        prefix = innermost_repository(root, path)
        by_repository.setdefault(prefix, []).append(path[len(prefix) :] or ".")
    try:
        listed = {path for prefix, some in by_repository.items() for path in _git_files(root, prefix, 0, some)}
        return sorted(filter(is_text, listed))
    except GitFailed:
        return []


def git_marks(root: str) -> tuple[tuple[int, int, int] | None, ...]:
    """Return a value that differs after git moved HEAD or rewrote its index, and went back again.

    It only looks at three files, so it can be asked often.
    """
    place = find_repository(root)
    return tuple(_mark(os.path.join(git_folders(*place)[0], name)) for name in _MOVED_BY_GIT) if place else ()


def _mark(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def committed_blobs(root: str, commit: str) -> dict[str, str]:
    """Return path → blob id, of every file of a commit that lies below the root."""
    blobs = {}
    told = ask_git(root, "ls-tree", "-r", "-z", commit, timeout=GIT_TIMEOUT_S) if commit else None
    for entry in (told or b"").split(b"\0"):
        about, tab, path = entry.partition(b"\t")
        if tab:
            blobs[os.fsdecode(path)] = about.split(b" ")[2].decode()
    return blobs


def _git_files(root: str, prefix: str, depth: int, some: Sequence[str] = ()) -> Iterator[str]:
    here = os.path.join(root, prefix)
    found = safe_git(
        here,
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
        "--",
        *(f":(literal){path}" for path in some),
        timeout=GIT_TIMEOUT_S,
    )
    if not found.ok:
        raise GitFailed("git failed: {problem}", problem=found.stderr)
    below = os.path.join(root, "")  # thousands of paths: to join each takes a twentieth of a look at them
    for entry in dict.fromkeys(os.fsdecode(found.stdout).split("\0")):
        path = prefix + entry
        if not entry or not _NEVER.isdisjoint(path.split("/")):
            continue
        folder = below + path
        if entry.endswith("/") or (os.path.isdir(folder) and not os.path.islink(folder)):
            # a submodule, or a repository that lies here; one that is not there has nothing to list
            if depth < MAX_NESTED_REPOSITORIES and os.path.lexists(os.path.join(folder, ".git")):
                yield from _git_files(root, path.rstrip("/") + "/", depth + 1)
            continue
        yield path


def is_text(path: str) -> bool:
    """Return whether a path can be written down at all; one that is not UTF-8 cannot be asked for either."""
    return path.isprintable() or path.encode("utf-8", "replace").decode() == path


def _walk(root: str, prefix: str = "") -> Iterator[str]:
    try:
        entries = sorted(os.scandir(os.path.join(root, prefix)), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _NEVER and entry.name not in _NOT_OURS:
                yield from _walk(root, f"{prefix}{entry.name}/")
        elif entry.is_file(follow_symlinks=False):
            yield prefix + entry.name
