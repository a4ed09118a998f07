"""When git moved contents about, as its own log of what HEAD was (`logs/HEAD`) and what was stashed tells."""

from __future__ import annotations

import os
import re
from datetime import datetime
from typing import Final

from nebula.blame.exchange import IMPORTED, TRACES
from nebula.files.reading import read_or_empty
from nebula.git import MOST_OF_LINK, ask_git, find_repository, git_folders, place_in_repository

_MOST: Final = 64 << 20
_PATIENCE_S: Final = 120.0
_HEAD_LOG: Final = "logs/HEAD"
_STASH_LOG: Final = "logs/refs/stash"
_ENTRY = re.compile(rb"> (\d{1,12}) [+-]\d{4}(?:\t(.*))?$", re.MULTILINE)
_PLAIN: Final = re.compile(rb"commit(?: \((?:initial|amend)\))?:|clone:|Branch: ")
"""Entries of what leaves the files as they are."""


def carried_times(root: str) -> list[int]:
    """Return the seconds at which git brought contents back or here: checkout, rebase, merge, stash and the like."""
    place = find_repository(root)
    if place is None:
        return []
    own, common = git_folders(*place)
    heads = [int(time) for time, message in _entries(own, _HEAD_LOG) if not _PLAIN.match(message)]
    return sorted([*heads, *(int(time) for time, _ in _entries(common, _STASH_LOG))])


def find_logs(root: str) -> list[str]:
    """Return the files that tell it; where there is no repository, what would be one."""
    place = find_repository(root)
    if place is None:
        return [os.path.join(root, ".git")]
    own, common = git_folders(*place)
    return [os.path.join(own, _HEAD_LOG), os.path.join(common, _STASH_LOG)]


def find_state(root: str) -> list[str]:
    """Return the files that change where git names another commit, author or history than before."""
    place = find_repository(root)
    if place is None:
        return [os.path.join(root, ".git")]
    own, common = git_folders(*place)
    head = read_or_empty(own, "HEAD", MOST_OF_LINK, follow=False)
    reference = os.fsdecode(head.removeprefix(b"ref:").strip()) if head.startswith(b"ref: refs/") else "HEAD"
    names = [os.path.join(own, name) for name in ("HEAD", _HEAD_LOG, "config.worktree")]
    shared = [reference, "packed-refs", "config", "shallow", "refs/replace", "refs/notes/ai"]
    return [
        *names,
        *(os.path.join(common, name) for name in shared),
        os.path.join(place[0], TRACES),
        os.path.join(root, IMPORTED),
    ]


def changed_files(root: str) -> list[str]:
    """Return the paths of the project that are not as the last commit has them; new files are not among them."""
    how = ("--porcelain=v1", "-z", "--untracked-files=no", "--no-renames")
    told = ask_git(root, "status", *how, "--", ".", timeout=_PATIENCE_S) or b""
    place = place_in_repository(root)
    start = 3 + len(os.fsencode(place)) + bool(place)  # two letters and a blank; git counts from the top
    return [os.fsdecode(entry[start:]) for entry in told.split(b"\0") if entry]


def seconds(moment: str) -> float:
    """Return an ISO time in seconds."""
    return datetime.fromisoformat(moment).timestamp()


def _entries(git_dir: str, path: str) -> list[tuple[bytes, bytes]]:
    # A stranger's file: without it nothing was carried that we know of.
    return _ENTRY.findall(read_or_empty(git_dir, path, _MOST, follow=False))
