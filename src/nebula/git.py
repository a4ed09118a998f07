"""The only way this program runs git.

A repository can carry programs for git to run: hooks, a file system monitor, pagers, diff and merge drivers, filters,
helpers. Looking at a project must not run them. So git gets a bare environment, no configuration but the
repository's own, every setting that names a program overridden, only subcommands that read, and a time limit.
Attributes can name filters of any name; each one the configuration defines is overridden by name.
Submodules are not entered: git would look at them with their own configuration and without our overrides.

Not protected: a bug in git itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from nebula.files.odd_files import RULES, find_odd_file, is_odd
from nebula.programs import ProgramResult, find_program, run, safe_path
from nebula.value import value

DEFAULT_TIMEOUT: Final = 10.0
FIRST_LOOK: Final = 1.0
"""Seconds after which it is time to see whether git waits for something that is no file."""
CHECKOUT_TIMEOUT: Final = 300.0
"""For a whole tree to be written."""

READING: Final = ("check-ignore", "ls-files", "ls-tree", "rev-parse", "status")
"""The subcommands that may be run."""
_LOOKS_AT_FILES = ("ls-files", "status")
"""These compare files of the work tree with the index, and would send them through clean filters."""
_NO_PROGRAM = "false"
_OVERRIDES: Final[Mapping[str, str]] = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.editor": _NO_PROGRAM,
    "core.askPass": _NO_PROGRAM,
    "core.sshCommand": _NO_PROGRAM,
    "core.gitProxy": "",
    "core.alternateRefsCommand": _NO_PROGRAM,
    "core.attributesFile": os.devnull,
    "core.untrackedCache": "false",
    "credential.helper": "",
    "diff.autoRefreshIndex": "false",
    "diff.external": "",
    "gpg.program": _NO_PROGRAM,
    "gpg.ssh.program": _NO_PROGRAM,
    "gpg.x509.program": _NO_PROGRAM,
    "log.showSignature": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "sequence.editor": _NO_PROGRAM,
    "submodule.recurse": "false",
}


@value
class GitResult:
    returncode: int
    stdout: bytes
    stderr: str

    @property
    def ok(self) -> bool:
        return self.returncode == 0


class GitFailed(Exception):
    """git is missing, the directory is in no repository, or it took too long. The message says which."""


def safe_git(root: str, *args: str, timeout: float = DEFAULT_TIMEOUT, feed: bytes | None = None) -> GitResult:
    """Run a reading git command in `root`. ValueError for a subcommand that is not known to be safe."""
    command = _checked(args)
    settings = dict(_OVERRIDES)
    if args[0] in _LOOKS_AT_FILES:
        settings |= _without_filters(_read(root, _LIST_FILTERS, _environment(root, settings), timeout))
    outcome = _read(root, command, _environment(root, settings), timeout, feed)
    return GitResult(outcome.returncode, outcome.stdout, outcome.stderr.decode(errors="replace"))


def _read(
    root: str, args: Sequence[str], env: Mapping[str, str], timeout: float, feed: bytes | None = None
) -> ProgramResult:
    """Runs git, which opens whatever lies in the place of a file and waits for a pipe without end: a repository where
    that happened is left alone from then on. Raises GitFailed."""
    command = [*_start_of_command(root), *args]
    patience = min(timeout, FIRST_LOOK)
    while True:
        try:
            return run(command, cwd=root, env=env, timeout=patience, feed=feed)
        except TimeoutError as error:
            _refuse_odd(root)
            if patience == timeout:
                raise GitFailed(f"{error}.") from None
            patience = timeout  # it only has much to do, and may begin again: it reads, no more


_odd_repositories: dict[str, str] = {}
"""Git directories, each with the pipe or device that git would wait for."""


def _refuse_odd(root: str) -> None:
    work_tree, git_dir = find_repository(root) or (root, root)
    odd = find_odd_file(git_dir) or find_odd_file(work_tree, RULES, skip={".git"})
    if odd:
        _odd_repositories[git_dir] = odd
        raise GitFailed(_waiting_for(odd, work_tree))


def _waiting_for(odd: str, work_tree: str) -> str:
    return f"{os.path.relpath(odd, work_tree)} is no plain file; git would wait for it."


def add_worktree(root: str, place: str) -> None:
    """A work tree of the repository's last commit at `place`, apart from the user's. Raises GitFailed."""
    _change_worktrees(root, "add", "--detach", "--quiet", place, "HEAD")


def remove_worktree(root: str, place: str) -> None:
    """Takes it away with all that was changed in it. Raises GitFailed."""
    _change_worktrees(root, "remove", "--force", place)


def _change_worktrees(root: str, *args: str) -> None:
    """The one thing that is written: a list of work trees in `.git`. Filters and hooks are off here as well."""
    start = _start_of_command(root)
    settings = dict(_OVERRIDES)
    try:
        listed = run([*start, *_LIST_FILTERS], cwd=root, env=_environment(root, settings), timeout=DEFAULT_TIMEOUT)
        env = _environment(root, settings | _without_filters(listed))
        outcome = run([*start, "worktree", *args], cwd=root, env=env, timeout=CHECKOUT_TIMEOUT)
    except TimeoutError as error:
        raise GitFailed(f"{error}.") from None
    if outcome.returncode:
        raise GitFailed(outcome.stderr.decode(errors="replace").strip() or "git worktree failed")


def git_setting(root: str, key: str) -> str | None:
    """What the user or the repository set, without our overrides: for showing it, or for finding the hooks folder.

    Reading one setting runs no program. Raises GitFailed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {"PATH": safe_path(root)}
    outcome = _read(root, ("config", "--null", "--get", key), env, DEFAULT_TIMEOUT)
    return outcome.stdout.rstrip(b"\0").decode(errors="replace") if outcome.returncode == 0 else None


def _start_of_command(root: str) -> list[str]:
    program = find_program("git", root)
    if program is None:
        raise GitFailed("git was not found; install it to use this.")
    place = find_repository(root)
    if place is None:
        raise GitFailed("This directory is not in a git repository.")
    work_tree, git_dir = place
    odd = _odd_repositories.get(git_dir)
    if odd and is_odd(odd):
        raise GitFailed(_waiting_for(odd, work_tree))
    return [program, "--no-pager", "--no-replace-objects", f"--git-dir={git_dir}", f"--work-tree={work_tree}"]


def find_repository(root: str) -> tuple[str, str] | None:
    """(work tree, git directory) of the repository a directory is in; never a bare one."""
    here = os.path.realpath(root)
    while True:
        git_dir = os.path.join(here, ".git")
        if os.path.isfile(git_dir) or os.path.isfile(os.path.join(git_dir, "HEAD")):
            return here, git_dir
        here, below = os.path.dirname(here), here
        if here == below:
            return None


def place_in_repository(root: str) -> str:
    """Where a directory lies in its repository; "" at its top, and where there is none."""
    place = find_repository(root)
    inside = os.path.relpath(os.path.realpath(root), place[0]) if place else "."
    return "" if inside == "." else inside


def innermost_repository(root: str, path: str) -> str:
    """The folder of the repository inside the root that a path belongs to, ending in "/"; "" for the root's own."""
    folder = path
    while folder:
        if os.path.lexists(os.path.join(root, folder, ".git")):
            return f"{folder}/"
        folder = os.path.dirname(folder)
    return ""


_LIST_FILTERS = ("config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.")


def _without_filters(listed: ProgramResult) -> dict[str, str]:
    """Settings that take away the programs of every filter the configuration defines."""
    settings: dict[str, str] = {}
    for key in listed.stdout.decode(errors="surrogateescape").split("\0"):
        if name := key.partition(".")[2].rpartition(".")[0]:
            settings |= {f"filter.{name}.{program}": "" for program in ("clean", "smudge", "process")}
            settings[f"filter.{name}.required"] = "false"
    return settings


def _checked(args: Sequence[str]) -> list[str]:
    if not args or args[0] not in READING:
        raise ValueError(f"not a reading git command: {args[0] if args else '(none)'}")
    return ["status", "--ignore-submodules=all", *args[1:]] if args[0] == "status" else list(args)


def _environment(root: str, settings: Mapping[str, str]) -> dict[str, str]:
    env = {
        "PATH": safe_path(root),
        "LC_ALL": "C.UTF-8",
        "HOME": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_ASKPASS": _NO_PROGRAM,
        "GIT_SSH_COMMAND": _NO_PROGRAM,
        "GIT_EDITOR": _NO_PROGRAM,
        "GIT_PAGER": "cat",
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for number, (key, setting) in enumerate(settings.items()):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = setting
    return env
