"""The only way this program runs git.

A repository can carry programs for git to run: hooks, a file system monitor, pagers, diff and merge drivers, filters,
helpers. Looking at a project must not run them. So git gets a bare environment, no configuration but the
repository's own, every setting that names a program overridden, only subcommands that read, and a time limit.
Attributes can name filters of any name, and settings can name hooks; each one that the configuration defines is
overridden by name. Which settings hold depends on the git directory (`includeIf "gitdir:…"`, `config.worktree`), so
they are listed in the very directory in which git then runs.
Submodules are not entered: git would look at them with their own configuration and without our overrides.

Not protected: a bug in git itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from nebula.errors import NebulaError
from nebula.files.odd_files import MOST_OF_SETTINGS, RULES, find_odd_file, find_odd_settings, is_odd
from nebula.files.reading import read_or_empty
from nebula.language import sentence_of
from nebula.programs import ProgramResult, find_program, run, safe_path
from nebula.value import value

DEFAULT_TIMEOUT: Final = 10.0
FIRST_LOOK: Final = 1.0
"""Seconds after which it is time to see whether git waits for something that is no file."""
WRITING_TIMEOUT: Final = 300.0
"""For a whole tree to be written."""

MOST_OF_LINK: Final = 10_000
"""Characters of a `.git` file that names the git directory."""

_MOST_SETTINGS: Final = 256 * 1024
"""Bytes of settings that are looked through here; of more, git is asked."""

READING: Final = (
    "blame",
    "cat-file",
    "check-ignore",
    "diff-tree",
    "ls-files",
    "ls-tree",
    "rev-list",
    "rev-parse",
    "status",
)
"""The subcommands that may be run."""
_LOOKS_AT_FILES = ("ls-files", "status")
"""These compare files of the work tree with the index, and would send them through clean filters."""
_NO_PROGRAM = "false"
_FIRST_OPTIONS: Final = {
    "blame": ("--no-textconv",),
    "diff-tree": ("--no-textconv", "--no-ext-diff", "--ignore-submodules=all"),
    "status": ("--ignore-submodules=all",),
}
"""Options that keep a subcommand from running a driver's program, and from entering submodules."""
_RUNS_PROGRAMS: Final = ("--textconv", "--filters", "--contents")
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
    "core.excludesFile": os.devnull,
    "core.splitIndex": "false",
    "core.untrackedCache": "false",
    "credential.helper": "",
    "diff.autoRefreshIndex": "false",
    "diff.external": "",
    "gpg.program": _NO_PROGRAM,
    "gpg.ssh.program": _NO_PROGRAM,
    "gpg.x509.program": _NO_PROGRAM,
    "log.showSignature": "false",
    "mailmap.blob": "",
    "mailmap.file": "",
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


class GitFailed(NebulaError):
    """Raised where git is missing, the directory is in no repository, or git failed or took too long."""


class OddRepository(GitFailed):
    """Raised where git would wait for a file of the repository without end, or read it for as long."""


def safe_git(root: str, *args: str, timeout: float = DEFAULT_TIMEOUT, feed: bytes | None = None) -> GitResult:
    """Run a reading git command in `root`. ValueError for a subcommand that is not known to be safe."""
    command = _checked(args)
    settings = _without_programs(root, timeout) if args[0] in _LOOKS_AT_FILES else _OVERRIDES
    outcome = _read(root, command, _environment(root, settings), timeout, feed)
    return GitResult(outcome.returncode, outcome.stdout, outcome.stderr.decode(errors="replace"))


def _read(
    root: str, args: Sequence[str], env: Mapping[str, str], timeout: float, feed: bytes | None = None
) -> ProgramResult:
    """Run git, which opens whatever lies in the place of a file and waits for a pipe without end: a repository where
    that happened is left alone from then on. Raises GitFailed."""
    patience = min(timeout, FIRST_LOOK)
    while True:
        try:
            return _run(root, args, env, patience, feed)
        except TimeoutError as error:
            _refuse_odd(root)
            if patience == timeout:
                raise _failed(error) from None
            patience = timeout  # it only has much to do, and may begin again: it reads, no more


def _run(
    root: str, args: Sequence[str], env: Mapping[str, str], timeout: float, feed: bytes | None = None
) -> ProgramResult:
    """Run git in `root`. Raises TimeoutError, and GitFailed where it cannot be started at all."""
    try:
        return run([*_start_of_command(root), *args], cwd=root, env=env, timeout=timeout, feed=feed)
    except TimeoutError:
        raise
    except OSError as error:  # such as a filter whose name is longer than an environment may be
        raise _failed(error) from None


def _failed(problem: Exception) -> GitFailed:
    return GitFailed("git failed: {problem}", problem=sentence_of(problem))


_odd_repositories: dict[str, tuple[str, int | None]] = {}
"""Git directories, each with what git would wait for, or read without end, and how large that may be."""


def _refuse_odd(root: str) -> None:
    work_tree, git_dir = find_repository(root) or (root, root)
    named = find_odd_settings(git_dir)
    odd = named or find_odd_file(git_dir) or find_odd_file(work_tree, RULES, skip={".git"})
    if odd:
        _odd_repositories[git_dir] = odd, MOST_OF_SETTINGS if named else None
        raise _waits_for(odd, work_tree)


def _waits_for(odd: str, work_tree: str) -> OddRepository:
    sentence = "{path} is no plain file, or too large for one of its name: git is not asked about this repository."
    return OddRepository(sentence, path=os.path.relpath(odd, work_tree))


def ask_git(root: str, *args: str, timeout: float = DEFAULT_TIMEOUT, feed: bytes | None = None) -> bytes | None:
    """Return what a reading git command says; None where it fails, or there is no git, or no repository."""
    try:
        told = safe_git(root, *args, timeout=timeout, feed=feed)
    except GitFailed:
        return None
    return told.stdout if told.ok else None


def find_commit(root: str, ref: str = "HEAD") -> str:
    """Return the id of the commit that a word names; "" where it names none."""
    if not ref or ref.startswith("-") or ":" in ref:
        return ""
    return (ask_git(root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") or b"").decode().strip()


def writing_git(root: str, *args: str, feed: bytes | None = None, more: Mapping[str, str] | None = None) -> bytes:
    """Run one of the commands of `nebula.git.writing`, with more in its environment. Raises GitFailed."""
    env = {**_environment(root, _without_programs(root, DEFAULT_TIMEOUT)), **(more or {})}
    try:
        outcome = _run(root, args, env, WRITING_TIMEOUT, feed)
    except TimeoutError as error:
        raise _failed(error) from None
    if outcome.returncode:
        said = outcome.stderr.decode(errors="replace").strip() or f"git {args[0]}: {outcome.returncode}"
        raise GitFailed("git failed: {problem}", problem=said)
    return outcome.stdout


def git_setting(root: str, key: str) -> str | None:
    """Return what the user or the repository set, without our overrides: to show it, or to find the hooks folder.
    Raises GitFailed."""
    outcome = _read_settings(root, "--get", key)
    return outcome.stdout.rstrip(b"\0").decode(errors="replace") if outcome.returncode == 0 else None


def obeyed_paths(root: str) -> tuple[str, ...]:
    """Return the places that the settings of the repository name: the folder of its hooks, files of further settings.
    Git is asked only where there may be one. Raises GitFailed."""
    place = find_repository(root)
    if place is None or not _may_name_places(os.path.join(place[1], "config")):
        return ()
    told = _read_settings(root, "--show-origin", "--get-regexp", r"^(core\.hookspath|include(if\..*)?\.path)$").stdout
    found, words = [], told.decode(errors="surrogateescape").split("\0")
    for origin, setting in zip(words[::2], words[1::2], strict=False):
        key, _, value = setting.partition("\n")
        folder = place[0] if key == "core.hookspath" else os.path.dirname(os.path.join(root, origin.partition(":")[2]))
        found.append(os.path.realpath(os.path.join(folder, os.path.expanduser(value))))
    return tuple(found)


def _may_name_places(settings: str) -> bool:
    try:
        handle = os.open(settings, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            text = os.read(handle, _MOST_SETTINGS).lower()
        finally:
            os.close(handle)
    except OSError:  # of a work tree elsewhere
        return True
    return b"hookspath" in text or b"include" in text or len(text) == _MOST_SETTINGS


def git_user(root: str) -> tuple[str, str]:
    """Return the name and address of whoever commits here, as the user's git would take them: from the environment,
    else from its settings; empty where neither says. Raises GitFailed."""
    told = _read_settings(root, "--get-regexp", r"^user\.(name|email)$").stdout.decode(errors="replace")
    said = dict(line.partition("\n")[::2] for line in told.split("\0"))  # of several the last holds
    name, address = (os.environ.get(f"GIT_AUTHOR_{each}", "") for each in ("NAME", "EMAIL"))
    return name or said.get("user.name", ""), address or said.get("user.email", "")


def _read_settings(root: str, *how: str) -> ProgramResult:
    """Ask for settings, which runs no program. Raises GitFailed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
        "PATH": safe_path(*_folders_of_project(root))
    }
    return _read(root, ("config", "--null", *how), env, DEFAULT_TIMEOUT)


def _start_of_command(root: str) -> list[str]:
    program = find_program("git", *_folders_of_project(root))
    if program is None:
        raise GitFailed("git was not found; install it to use this.")
    place = find_repository(root)
    if place is None:
        raise GitFailed("This directory is not in a git repository.")
    work_tree, git_dir = place
    odd = _odd_repositories.get(git_dir)
    if odd and is_odd(*odd):
        raise _waits_for(odd[0], work_tree)
    return [program, "--no-pager", "--no-replace-objects", f"--git-dir={git_dir}", f"--work-tree={work_tree}"]


def _folders_of_project(root: str) -> tuple[str, ...]:
    """Return the directories whose programs are not to be run: of an added work tree the repository's own as well."""
    _, git_dir = find_repository(root) or ("", "")
    try:
        with open(git_dir, encoding="utf-8", errors="surrogateescape") as link:
            linked = os.path.join(root, link.read(MOST_OF_LINK).removeprefix("gitdir:").strip())
    except (OSError, ValueError):
        return (root,)
    main, worktrees, _ = linked.rpartition("/worktrees/")
    return (root, os.path.dirname(main)) if worktrees else (root,)


def find_repository(root: str) -> tuple[str, str] | None:
    """Return (work tree, git directory) of the repository that a directory is in; never a bare one."""
    here = os.path.realpath(root)
    while True:
        git_dir = os.path.join(here, ".git")
        if os.path.isfile(git_dir) or os.path.isfile(os.path.join(git_dir, "HEAD")):
            return here, git_dir
        here, below = os.path.dirname(here), here
        if here == below:
            return None


def git_folders(work_tree: str, git_dir: str) -> tuple[str, str]:
    """Return the folder of a work tree's own git and the one that all work trees of the repository share.

    Of an added work tree, and of a submodule, `.git` is a file that names the first, and in that one lies the name of
    the second."""
    if not os.path.isfile(git_dir):
        return git_dir, git_dir
    named = read_or_empty(work_tree, ".git", MOST_OF_LINK).partition(b"gitdir:")[2].strip()
    own = os.path.join(work_tree, os.fsdecode(named)) if named else git_dir
    shared = os.fsdecode(read_or_empty(own, "commondir", MOST_OF_LINK).strip())
    return own, os.path.join(own, shared) if shared else own


def place_in_repository(root: str) -> str:
    """Return the path of a directory in its repository; "" at its top, and where there is none."""
    place = find_repository(root)
    inside = os.path.relpath(os.path.realpath(root), place[0]) if place else "."
    return "" if inside == "." else inside


def innermost_repository(root: str, path: str) -> str:
    """Return the folder of the repository inside the root that a path belongs to, with a "/"; "" for the root's own."""
    folder = path
    while folder:
        if os.path.lexists(os.path.join(root, folder, ".git")):
            return f"{folder}/"
        folder = os.path.dirname(folder)
    return ""


_LIST_PROGRAMS = ("config", "--null", "--name-only", "--get-regexp", r"^(filter|hook)\..*\.")


def _without_programs(root: str, timeout: float) -> dict[str, str]:
    """Return the settings that take away the programs of every filter and hook that hold in `root`.

    Their names may be empty, and may hold dots."""
    listed = _read(root, _LIST_PROGRAMS, _environment(root, _OVERRIDES), timeout)
    settings = dict(_OVERRIDES)
    for key in filter(None, listed.stdout.decode(errors="surrogateescape").split("\0")):
        name = key.rpartition(".")[0]
        if name.startswith("hook."):
            settings[f"{name}.enabled"] = "false"
        else:
            settings |= {f"{name}.{program}": "" for program in ("clean", "smudge", "process")}
            settings[f"{name}.required"] = "false"
    return settings


def _checked(args: Sequence[str]) -> list[str]:
    if not args or args[0] not in READING:
        raise ValueError(f"not a reading git command: {args[0] if args else '(none)'}")
    options = args[: args.index("--")] if "--" in args else args
    if any(each.startswith(_RUNS_PROGRAMS) for each in options):
        raise ValueError(f"git {args[0]} would run programs of the repository")
    return [args[0], *_FIRST_OPTIONS.get(args[0], ()), *args[1:]]


def _environment(root: str, settings: Mapping[str, str]) -> dict[str, str]:
    env = {
        "PATH": safe_path(*_folders_of_project(root)),
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
