"""What changes under `.git/` mean. Nothing is run: refs, index and new commits are read as files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import starmap, zip_longest
from operator import eq

from nebula.files.reading import UnreadableFile, read_below
from nebula.sandbox.changes.git_index import LARGEST_INDEX, NotUnderstood, read_entries
from nebula.sandbox.changes.git_objects import OBJECT_NAME, NotAnObject, unpack
from nebula.sandbox.contract import GitChange, LayerChange
from nebula.sandbox.layer import Layer

_SMALL_LIMIT = 2**20
_MOST_COMMITS = 1000
_REF_KINDS = {"heads": "branch", "tags": "tag", "remotes": "remote", "stash": "stash"}
_BOOKKEEPING = re.compile(
    r"(objects|logs|rr-cache)(/|$)|refs(/[^/]+)?$|branches$|info$|hooks$"
    r"|(COMMIT_EDITMSG|ORIG_HEAD|FETCH_HEAD|MERGE_MSG|SQUASH_MSG|AUTO_MERGE|gc\.log|description)$"
    r"|info/refs$"
)
"""Follows from the rest, or says nothing by itself."""


def is_git_path(path: str) -> bool:
    return path == ".git" or path.startswith(".git/") or "/.git/" in path or path.endswith("/.git")


def without_refreshed_indexes(layer: Layer, changes: list[LayerChange]) -> list[LayerChange]:
    """Return the changes without each index that only knows newer file times."""
    return [change for change in changes if not (is_index(change.path) and _has_same_entries(layer, change))]


def meanings(layer: Layer, changes: list[LayerChange]) -> Iterator[GitChange]:
    touched = {change.path: change for change in changes if change.path.startswith(".git/")}
    outside = {_repository_of(change.path) for change in changes} - {".git"}
    if any(change.path == ".git" and change.before is None for change in changes) or ".git" in {
        change.path for change in changes if change.kind == "deleted"
    }:
        yield GitChange("repository", ".git", *_presence(changes, ".git"))
        touched = {}
    for repository in sorted(outside):
        yield GitChange("repository", repository, *_presence(changes, repository))
    if not touched:
        return
    yield from _ref_changes(layer, touched)
    for path, change in sorted(touched.items()):
        inner = path.removeprefix(".git/")
        if inner == "index":
            yield GitChange("index", path)
        elif inner == "HEAD":
            yield GitChange("head", "HEAD", _text(layer.lower, path), _text(layer.view, path))
        elif inner.startswith("config"):
            yield GitChange("config", path)
        elif inner.startswith("hooks/"):
            yield GitChange("hook", path)
        elif not inner.startswith("refs/") and inner != "packed-refs" and not _BOOKKEEPING.match(inner):
            yield GitChange("other", path, *_presence([change], path))


def _repository_of(path: str) -> str:
    before, found, _ = f"/{path}/".partition("/.git/")
    return f"{before}{found}".strip("/")


def _presence(changes: list[LayerChange], path: str) -> tuple[str | None, str | None]:
    for change in changes:
        if change.path == path:
            before, after = change.before, change.after
            return (None if before is None else before.kind), (None if after is None else after.kind)
    return "folder", "folder"


def _ref_changes(layer: Layer, touched: dict[str, LayerChange]) -> Iterator[GitChange]:
    names = {
        path.removeprefix(".git/")
        for path, change in touched.items()
        if path.startswith(".git/refs/") and _is_file(change)
    }
    packed_before, packed_after = _packed_refs(layer.lower), _packed_refs(layer.view)
    if ".git/packed-refs" in touched:
        names |= {name for name in packed_before | packed_after if packed_before.get(name) != packed_after.get(name)}
    for name in sorted(names):
        before = _text(layer.lower, f".git/{name}") or packed_before.get(name)
        after = _text(layer.view, f".git/{name}") or packed_after.get(name)
        if before != after:
            found = _ref_change(layer, name, before, after, touched)
            yield found
            if found.kind == "branch" and before is None:
                yield from _commit_on_new_branch(layer, found, touched)


def _ref_change(
    layer: Layer, name: str, before: str | None, after: str | None, touched: Mapping[str, LayerChange]
) -> GitChange:
    _, kind, *short = name.split("/")
    what = _REF_KINDS.get(kind, "other")
    subject = _new_commit(layer, before, after, touched) if what == "branch" else None
    return GitChange("commit" if subject is not None else what, "/".join(short) or kind, before, after, subject)


def _commit_on_new_branch(layer: Layer, branch: GitChange, touched: Mapping[str, LayerChange]) -> Iterator[GitChange]:
    """Yield the commit that the command made on a branch of its own, as what it is beside the branch: its base is the
    first commit that was there before."""
    base = branch.after
    for _ in range(_MOST_COMMITS):
        parents = _commit(layer, base)[0] if _object_path(base) in touched else None
        if not parents:
            break
        base = parents[0]
    subject = _new_commit(layer, base, branch.after, touched)
    if subject is not None:
        yield GitChange("commit", branch.name, base, branch.after, subject)


def _new_commit(layer: Layer, before: str | None, after: str | None, touched: Mapping[str, LayerChange]) -> str | None:
    """Return the subject of `after`, if that is a commit made by the command on `before`, perhaps with others
    between."""
    parents, subject = _commit(layer, after) if _object_path(after) in touched else (None, None)
    for _ in range(_MOST_COMMITS):
        if parents is None or (before is None and not parents) or before in parents:
            return None if parents is None else subject
        parent = parents[0] if parents else None
        parents = _commit(layer, parent)[0] if _object_path(parent) in touched else None
    return None


def _object_path(name: str | None) -> str:
    return f".git/objects/{name[:2]}/{name[2:]}" if name else ""


def _commit(layer: Layer, name: str | None) -> tuple[list[str] | None, str | None]:
    """Return parents and subject, where it is a loose commit."""
    if name is None or not OBJECT_NAME.fullmatch(name):
        return None, None
    try:
        packed = read_below(layer.view, _object_path(name), _SMALL_LIMIT)
        text = unpack(packed or b"", "commit", _SMALL_LIMIT)
    except (UnreadableFile, NotAnObject):
        return None, None
    headers, _, message = text.decode("utf-8", "replace").partition("\n\n")
    parents = [line.removeprefix("parent ") for line in headers.split("\n") if line.startswith("parent ")]
    return parents, message.partition("\n")[0]


def _packed_refs(root: int) -> dict[str, str]:
    lines = (_text(root, ".git/packed-refs") or "").splitlines()
    pairs = (line.split(" ", 1) for line in lines if line and line[0] not in "#^")
    return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}


def _text(root: int, path: str) -> str | None:
    try:
        data = read_below(root, path, _SMALL_LIMIT * 16, follow=False)
    except UnreadableFile:
        return None
    return None if data is None else data.decode("utf-8", "surrogateescape").strip()


def is_index(path: str) -> bool:
    return path == ".git/index" or path.endswith("/.git/index")


def _is_file(change: LayerChange) -> bool:
    return any(each is not None and each.kind != "folder" for each in (change.before, change.after))


def _has_same_entries(layer: Layer, change: LayerChange) -> bool:
    if change.kind != "changed":
        return False
    try:
        before, after = (
            read_below(root, change.path, LARGEST_INDEX, follow=False) for root in (layer.lower, layer.view)
        )
        return all(starmap(eq, zip_longest(read_entries(before or b""), read_entries(after or b""))))
    except (UnreadableFile, NotUnderstood):
        return False
