"""Which files of `.nebula/` git may keep: only what people wrote, and the conversation once the user shares it.

A conversation belongs to the user. Ignore rules written by somebody else are replaced by ours. Rules that let the
conversation in stay only where the user asked for them on this machine, or where git keeps the conversation already.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Final

from nebula.files.descriptors import closed_after
from nebula.files.folder import Folder
from nebula.files.home import derived_folder
from nebula.files.reading import UnreadableFile, read_below
from nebula.files.syscalls import REAL, Syscalls
from nebula.git import GitFailed, ask_git, find_repository, place_in_repository, safe_git

LOCAL_RULES = """\
# Kept by nebula. Only what people write here is for git; `nebula graph share` adds the conversation.
/*
!/config.json
!/skills/
!/commands/
"""
SHARED_RULES = """\
# Kept by nebula. The conversation graph and what people write here are meant for git; all else is local.
/*
!/.gitignore
!/config.json
!/skills/
!/commands/
!/graph/
"""
_FILE = ".gitignore"
_SIGN: Final = re.compile(r"[\\*?\[]")
"""What makes git read a line of a list of names as a pattern."""
_MOST_OF_EXCLUDES: Final = 1 << 20
_MARKER = "graph-shared"
_GRAPH = (".nebula/graph/.gitattributes", ".nebula/graph/.gitignore", ".nebula/graph/nodes/index.tsv")
"""Files that every graph has: where git tracks one of them, it keeps the graph."""


def ensure_rules(state_fd: int, calls: Syscalls) -> None:
    """Replace the ignore rules in `.nebula/` by ours if they differ: others could let `git add` take private files."""
    if _read_rules(state_fd) not in (LOCAL_RULES, SHARED_RULES):
        _write_rules(state_fd, LOCAL_RULES, calls)


def settle_sharing(root: str, state_fd: int) -> None:
    """Remove rules that let the conversation into git, where neither the user asked for that nor git keeps it
    already."""
    rules = _read_rules(state_fd)
    if rules == LOCAL_RULES:
        return
    wanted = SHARED_RULES if is_shared(root) else LOCAL_RULES
    if rules != wanted:
        _write_rules(state_fd, wanted, REAL)


def is_shared(root: str) -> bool:
    """Return whether the user shared the conversation of the project in `root`, or git keeps it already."""
    if os.path.exists(_marker(root)):
        return True
    if not _is_tracked(root):
        return False
    _note(root)
    return True


def share(root: str, state_fd: int) -> None:
    """Let git take the conversation from now on. Raises OSError."""
    _note(root)
    _write_rules(state_fd, SHARED_RULES, REAL)


def _marker(root: str) -> str:
    return os.path.join(derived_folder(root), _MARKER)


def _note(root: str) -> None:
    with open(_marker(root), "a", encoding="utf-8"):
        pass
    with suppress(GitFailed, UnreadableFile, OSError):
        _keep_private(root)


def _keep_private(root: str) -> None:
    """List what is private in this repository's own exclude file, too: the rules in `.nebula/` vanish with a checkout
    of a commit that does not have them, and the next `git add` would take the journal."""
    told = safe_git(root, "rev-parse", "--git-path", "info/exclude")
    folder, name = os.path.split(os.path.join(root, os.fsdecode(told.stdout.rstrip(b"\n"))))
    place = place_in_repository(root)
    line = "/" + _SIGN.sub(r"\\\g<0>", f"{place}/" if place else "") + ".nebula/*"
    if not told.ok or "\n" in line:
        return
    os.makedirs(folder, exist_ok=True)
    with Folder.at(folder) as info:
        known = info.read(name, _MOST_OF_EXCLUDES) or b""
        if os.fsencode(line) not in known.splitlines():
            with closed_after(info.open_for_append(name, 0o644)) as fd:
                os.write(fd, b"\n" * (not known.endswith(b"\n") and bool(known)) + os.fsencode(line) + b"\n")


def _is_tracked(root: str) -> bool:
    return find_repository(root) is not None and bool(ask_git(root, "ls-files", "-z", "--", *_GRAPH))


def _read_rules(state_fd: int) -> str | None:
    try:
        found = read_below(state_fd, _FILE, max(map(len, (LOCAL_RULES, SHARED_RULES))), follow=False)
    except UnreadableFile:
        return None  # a link, a pipe, or something longer: replaced like any other
    return None if found is None else found.decode("utf-8", "replace")


def _write_rules(state_fd: int, rules: str, calls: Syscalls) -> None:
    temporary = f"{_FILE}.{os.getpid()}.{os.urandom(4).hex()}"
    with closed_after(calls.create(temporary, state_fd, 0o644)) as fd:
        try:
            calls.write(fd, rules.encode())
            calls.rename(temporary, state_fd, _FILE, state_fd)
        except OSError:
            os.unlink(temporary, dir_fd=state_fd)
            raise
