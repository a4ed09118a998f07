"""Find the files below a directory that count: not ignored by git, not in `.git` or `.nebula`, no links followed.

There are two engines with the same rules: ripgrep where it is installed (it also searches in parallel), else the
library of its file walk. Both return names, which are only proposals: whoever uses a name opens it through the jail.

Ignore rules come with the project, and reading them takes a thousand times their size in memory. Ripgrep runs with a
memory limit; in this process the sizes of the rules are added up before any is read. Where they are too large, or not a
regular file (reading a pipe would never end), the walk goes on without them and reports that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from nebula.files.odd_files import find_odd_file, is_odd
from nebula.files.system.machine import path_of
from nebula.programs import find_program, run
from nebula.value import value

ENGINE_TIMEOUT: Final = 60.0
FIRST_LOOK_S: Final = 1.0
"""After so long we check whether it is waiting for ignore rules that are a pipe, deep in the tree."""
ENGINE_MEMORY: Final = 512 * 1024 * 1024
SKIPPED_FOLDERS: Final = (".git", ".nebula")
RULES: Final = (".gitignore", ".git/info/exclude")
SMALL_TREE: Final = 100
"""A tree with at most so many names is not worth another process."""
SMALL_RULES: Final = 32 * 1024
"""Bytes of ignore rules that are always read in this process: 40 MB and 50 ms at the very worst."""
MAX_RULES: Final = 256 * 1024
"""The same limit where there is no ripgrep to read larger ones."""
ODD_RULES: Final = sys.maxsize
"""Stands for rules that are not a regular file, or so large that nothing reads them: larger than any limit."""
WITHOUT_RULES: Final = (
    "The ignore rules of this project cannot be used (too large, or no plain file); "
    "files that git ignores are included."
)


@value
class Walked:
    names: Sequence[bytes]
    """Relative to the folder, in any order."""
    remark: str = ""


class Engine(Protocol):
    def files(self, folder_fd: int, folder: str, *, use_parents: bool, keyword: str = "") -> Walked:
        """Return all files that count, and perhaps some directories; files without the keyword may be left out."""


def best_engine(root: str) -> Engine:
    program = find_program("rg", root)
    return SmallTreesHere(Ripgrep(program)) if program else LibraryWalk()


_odd_rules: dict[str, str] = {}
"""Folders in which ripgrep has waited, each with the rules there that are not a regular file."""


class Ripgrep:
    def __init__(self, program: str) -> None:
        self._program = program

    def files(self, folder_fd: int, folder: str, *, use_parents: bool, keyword: str = "") -> Walked:
        options = ["--files"]
        if keyword:
            options = ["--files-with-matches", "--fixed-strings", "--case-sensitive", "--encoding=none"]
            options += [*(["--multiline"] if "\n" in keyword else []), f"--regexp={keyword}"]
        command = [self._program, "--no-config", "--null", "--hidden", "--no-require-git", "--no-ignore-dot"]
        command += ["--no-messages", "--no-follow", *(f"--glob=!{name}" for name in SKIPPED_FOLDERS)]
        if not use_parents:
            command.append("--no-ignore-parent")
        env = {"PATH": os.defpath, "HOME": os.environ.get("HOME", os.devnull), "LC_ALL": "C.UTF-8"}

        start = path_of(folder_fd, folder)

        def names(timeout: float, *more: str) -> list[bytes] | None:
            """Return the names; None if a signal ended ripgrep, as happens at its memory limit."""
            line = [*command, *more, *options, "--", "./"]
            result = run(line, cwd=start, env=env, timeout=timeout, max_memory=ENGINE_MEMORY)
            ended = result.returncode < 0
            return None if ended else [name.removeprefix(b"./") for name in result.stdout.split(b"\0") if name]

        def names_by_rules() -> list[bytes] | None:
            try:
                return names(FIRST_LOOK_S)
            except TimeoutError:
                found = find_odd_file(_start(folder_fd, folder), (".gitignore",), skip=SKIPPED_FOLDERS)
                if found is None:
                    return names(ENGINE_TIMEOUT)
                _odd_rules[folder] = found
                return None

        odd = sum(_sizes(start, RULES)) >= ODD_RULES or is_odd(_odd_rules.get(folder, ""))
        found = None if odd else names_by_rules()
        return Walked(names(ENGINE_TIMEOUT, "--no-ignore-vcs") or (), WITHOUT_RULES) if found is None else Walked(found)


class SmallTreesHere:
    """Ripgrep; but a small tree is walked in this process, before another process would have started."""

    def __init__(self, ripgrep: Ripgrep) -> None:
        self._ripgrep = ripgrep
        self._walk = LibraryWalk()

    def files(self, folder_fd: int, folder: str, *, use_parents: bool, keyword: str = "") -> Walked:
        start = _start(folder_fd, folder)
        rules = _rules_size(start, use_parents, at_most=SMALL_TREE)
        if rules is not None and rules >= ODD_RULES:
            return Walked(self._walk.names(start, use_parents, with_rules=False), WITHOUT_RULES)
        if rules is None or rules > SMALL_RULES:
            return self._ripgrep.files(folder_fd, folder, use_parents=use_parents, keyword=keyword)
        return Walked(self._walk.names(start, use_parents, with_rules=True))


class LibraryWalk:
    def files(self, folder_fd: int, folder: str, *, use_parents: bool, keyword: str = "") -> Walked:
        del keyword  # does not help here: every file is read through the jail
        start = _start(folder_fd, folder)
        with_rules = (_rules_size(start, use_parents) or 0) <= MAX_RULES
        return Walked(self.names(start, use_parents, with_rules), "" if with_rules else WITHOUT_RULES)

    def names(self, start: str, use_parents: bool, with_rules: bool) -> list[bytes]:
        """Return the names of files and folders."""
        from pathlib import Path

        import ignore
        from ignore.overrides import OverrideBuilder

        skipped = OverrideBuilder(Path(start))
        for name in SKIPPED_FOLDERS:
            skipped.add(f"!{name}")
        walk = ignore.WalkBuilder(Path(start)).hidden(False).ignore(False).require_git(False)
        walk = walk.parents(use_parents and with_rules).git_ignore(with_rules).git_exclude(with_rules)
        entries = iter(walk.overrides(skipped.build()).build())
        prefix = os.fsencode(start) + b"/"
        names = []
        while True:
            try:
                names.append(os.fsencode(next(entries).path()).removeprefix(prefix))
            except StopIteration:
                return names[1:]  # the first is the folder itself
            except (ignore.Error, ignore.IOError):
                continue  # unreadable, too deep, or gone: the walk continues without it


def _rules_size(start: str, use_parents: bool, at_most: int = sys.maxsize) -> int | None:
    """Return the bytes of all ignore rules in a tree and, where they count, above it; None if it has more than
    `at_most` names."""
    size = sum(_sizes(os.path.join(start, ".git/info"), ["exclude"]))
    waiting = [start]
    seen = 0
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if seen > at_most:
                        return None
                    if entry.name == ".gitignore":
                        size += sum(_sizes(folder, [entry.name]))
                    elif entry.name not in SKIPPED_FOLDERS and entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue  # unreadable or gone: the walk will not see it either
    above = os.path.dirname(start)
    while use_parents and above != os.path.dirname(above):
        size += sum(_sizes(above, RULES))
        above = os.path.dirname(above)
    return size


def _sizes(folder: str, names: Iterable[str]) -> Iterable[int]:
    for name in names:
        path = os.path.join(folder, name)
        try:
            yield ODD_RULES if is_odd(path) else os.stat(path).st_size
        except OSError:
            yield 0


def _start(folder_fd: int, folder: str) -> str:
    """Return the present path of the opened directory; if its bytes are not text, which the library does not take,
    return a path to its descriptor."""
    path = path_of(folder_fd, folder)
    if path == folder or not os.path.islink(path):
        return path
    now = os.readlink(path)
    return now if os.fsencode(now).decode("utf-8", "ignore") == now else path
