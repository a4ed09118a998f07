"""Describe changes under `.git` to a person and to the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from nebula.language import Sentence
from nebula.sandbox.contract import ChangeSet, GitChange
from nebula.sandbox.layer import Layer
from nebula.tools.commands.commit_files import count_files

_BRANCH = "ref: refs/heads/"
_KINDS = {
    "branch": "branch {name}",
    "tag": "tag {name}",
    "remote": "remote branch {name}",
    "config": "git's settings ({name})",
    "hook": "hook {name}",
    "repository": "the repository {name}",
}


def show_name(name: str) -> str:
    """Return the name of a file or a ref for display: bytes that are not text come as lone surrogates, which no file,
    socket or terminal accepts."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def describe_repository(found: ChangeSet, layer: Layer, root: str) -> Iterator[Sentence]:
    """Yield what each change means. What is staged is left out where it follows from a commit, a stash or a switch."""
    tells_staged = not {each.kind for each in found.git} & {"commit", "stash", "head"}
    for each in found.git:
        if each.kind != "index" or tells_staged or each.name != ".git/index":
            yield _describe(each, layer, root)
    stored = [change for change in found.git_files if "/objects/" in change.path and not change.is_folder]
    if removed := sum(change.after is None for change in stored):
        yield Sentence("objects removed: {count}", count=f"{removed:,}")
    for change in stored:
        if change.path.endswith("alternates"):
            yield Sentence("objects of another repository: {name}", name=show_name(change.path))


def join_described(described: Sequence[Sentence]) -> Sentence:
    """Return all of it as one list; changes without a meaning of their own are git's bookkeeping."""
    if not described:
        return Sentence("git's own records")
    return reduce(lambda so_far, each: Sentence("{so_far}; {each}", so_far=so_far, each=each), described)


def _describe(change: GitChange, layer: Layer, root: str) -> Sentence:
    name = show_name(change.name)
    if change.kind == "commit":
        return _describe_commit(change, name, count_files(root, layer, change.before, change.after))
    if change.after is None and change.before is not None and change.kind in {"branch", "tag", "remote", "stash"}:
        return Sentence("{what} deleted", what=_named(change.kind, name))
    if change.kind == "head":
        return _describe_head(change.after or "")
    return _named(change.kind, name)


def _named(kind: str, name: str) -> Sentence:
    if kind == "stash":
        return Sentence("stash")
    if kind == "index":
        return Sentence("what is staged")
    return Sentence(_KINDS[kind], name=name) if kind in _KINDS else Sentence("{name}", name=name)


def _describe_commit(change: GitChange, branch: str, files: int | None) -> Sentence:
    subject = show_name(change.subject or "")
    if files is None:
        return Sentence("commit on {branch} ({subject})", branch=branch, subject=subject)
    if files == 1:
        return Sentence("commit on {branch} ({subject}), 1 file", branch=branch, subject=subject)
    counted = f"{files:,}"
    return Sentence("commit on {branch} ({subject}), {count} files", branch=branch, subject=subject, count=counted)


def _describe_head(head: str) -> Sentence:
    """Describe where HEAD points afterwards: to a branch, or to a commit without one."""
    if head.startswith(_BRANCH):
        return Sentence("switch to {branch}", branch=show_name(head.removeprefix(_BRANCH).strip()))
    return Sentence("switch to the commit {commit}, on no branch", commit=show_name(head.strip()[:12]))
