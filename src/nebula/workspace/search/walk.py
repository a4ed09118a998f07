"""Which files below a directory count: not ignored by git, not in `.git` or `.nebula`, no links followed.

Two engines with the same rules: ripgrep where it is installed (it searches in parallel, too), else the library of
its file walk. Both go by name, so what they say is a proposal only: whoever uses a name opens it through the jail.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, Protocol

from nebula.programs import find_program, run

ENGINE_TIMEOUT: Final = 60.0
SKIPPED_FOLDERS: Final = (".git", ".nebula")
SMALL_TREE: Final = 100
"""Names in a tree that is not worth another process."""


class Engine(Protocol):
    def files(self, folder_fd: int, folder: str, *, use_parents: bool) -> list[bytes]:
        """All files that count, and perhaps some directories, relative to the folder, in any order."""

    def candidates(self, folder_fd: int, folder: str, keyword: str, *, use_parents: bool) -> list[bytes]:
        """Those of them that may contain the keyword."""


def best_engine(root: str) -> Engine:
    program = find_program("rg", root)
    return SmallTreesHere(Ripgrep(program)) if program else LibraryWalk()


class Ripgrep:
    def __init__(self, program: str) -> None:
        self._program = program

    def files(self, folder_fd: int, folder: str, *, use_parents: bool) -> list[bytes]:
        return self._run(folder_fd, folder, use_parents, ["--files"])

    def candidates(self, folder_fd: int, folder: str, keyword: str, *, use_parents: bool) -> list[bytes]:
        options = ["--files-with-matches", "--fixed-strings", "--case-sensitive", "--encoding=none"]
        if "\n" in keyword:
            options.append("--multiline")
        return self._run(folder_fd, folder, use_parents, [*options, f"--regexp={keyword}"])

    def _run(self, folder_fd: int, folder: str, use_parents: bool, options: Sequence[str]) -> list[bytes]:
        command = [self._program, "--no-config", "--null", "--hidden", "--no-require-git", "--no-ignore-dot"]
        command += ["--no-messages", "--no-follow", *(f"--glob=!{name}" for name in SKIPPED_FOLDERS)]
        if not use_parents:
            command.append("--no-ignore-parent")
        env = {"PATH": os.defpath, "HOME": os.environ.get("HOME", os.devnull), "LC_ALL": "C.UTF-8"}
        outcome = run(
            [*command, *options, "--", "./"], cwd=_by_descriptor(folder_fd, folder), env=env, timeout=ENGINE_TIMEOUT
        )
        return [name.removeprefix(b"./") for name in outcome.stdout.split(b"\0") if name]


class SmallTreesHere:
    """Ripgrep, but for a tree so small that it is walked in this process before another one has started."""

    def __init__(self, ripgrep: Ripgrep) -> None:
        self._ripgrep = ripgrep
        self._walk = LibraryWalk()

    def files(self, folder_fd: int, folder: str, *, use_parents: bool) -> list[bytes]:
        few = self._walk.names(folder_fd, folder, use_parents, SMALL_TREE)
        return self._ripgrep.files(folder_fd, folder, use_parents=use_parents) if few is None else few

    def candidates(self, folder_fd: int, folder: str, keyword: str, *, use_parents: bool) -> list[bytes]:
        few = self._walk.names(folder_fd, folder, use_parents, SMALL_TREE)
        if few is not None:
            return few
        return self._ripgrep.candidates(folder_fd, folder, keyword, use_parents=use_parents)


class LibraryWalk:
    def files(self, folder_fd: int, folder: str, *, use_parents: bool) -> list[bytes]:
        return self.names(folder_fd, folder, use_parents, sys.maxsize) or []

    def names(self, folder_fd: int, folder: str, use_parents: bool, at_most: int) -> list[bytes] | None:
        """Files and folders; None where there are more than `at_most`, as soon as that is clear."""
        from pathlib import Path

        import ignore
        from ignore.overrides import OverrideBuilder

        name = _by_descriptor(folder_fd, folder)
        start = Path(name if name == folder else os.readlink(name))
        rules = OverrideBuilder(start)
        for skipped in SKIPPED_FOLDERS:
            rules.add(f"!{skipped}")
        walk = ignore.WalkBuilder(start).hidden(False).ignore(False).require_git(False).parents(use_parents)
        entries = iter(walk.overrides(rules.build()).build())
        prefix = os.fsencode(start) + b"/"
        names = []
        while True:
            try:
                names.append(os.fsencode(next(entries).path()).removeprefix(prefix))
                if len(names) > at_most:
                    return None
            except StopIteration:
                return names[1:]  # the first is the folder itself
            except (ignore.Error, ignore.IOError):
                continue  # unreadable, too deep, or gone: the walk goes on without it

    def candidates(self, folder_fd: int, folder: str, keyword: str, *, use_parents: bool) -> list[bytes]:
        del keyword  # no help here: every file is read through the jail
        return self.files(folder_fd, folder, use_parents=use_parents)


def _by_descriptor(folder_fd: int, folder: str) -> str:
    """A name for the very directory that was opened, where the system has such names."""
    return f"/proc/self/fd/{folder_fd}" if sys.platform.startswith("linux") else folder
