"""The git hook that hands each commit's staged change to the queue.

It is a few lines of shell that start git once: a commit waits some milliseconds for it, and neither a failure of it nor
a missing nebula can stop a commit. A hook that was there before runs first, and its refusal counts. Worktrees share
their hooks, and `core.hooksPath` may lie in the home for all repositories: one that has an index finds its own queue.
"""

from __future__ import annotations

import os
import shlex

from nebula.files.descriptors import naming
from nebula.files.home import derived_folder
from nebula.git import find_repository, git_setting, place_in_repository, safe_git
from nebula.index.errors import IndexFailed
from nebula.index.in_step.hook_run import QUEUE_NAME, STAGED

NAME = "pre-commit"
_BEFORE = ".before-nebula"
"""Behind the name of a hook that was there before ours."""
BEFORE = f"{NAME}{_BEFORE}"
MARK = "# nebula: hands the staged change to the code index"

_SCRIPT = """#!/bin/sh
{mark}
before="$(dirname "$0")/{before}"
if [ -x "$before" ]; then "$before" "$@" || exit $?; fi
(
  queue={queue}
  here="$(pwd -P)"{inner}
  if [ "$here" != {root} ]; then
    id=$(printf %s "$here" | sha256sum | cut -c 1-16)
    for folder in {projects}/*-"$id"; do queue="$folder/{queue_name}"; done
    [ -d "$folder" ] || exit 0
  fi
  {{ [ -d "$queue" ] || mkdir -p -m 700 "$queue"; }} &&
  {staged} {below}>"$queue/.new-$$" &&
  sync "$queue/.new-$$" &&
  mv "$queue/.new-$$" "$queue/$(date +%s%N)-$$"
) </dev/null >/dev/null 2>&1
exit 0
"""


def script(root: str, home: str | None = None) -> str:
    """git names paths from the top of the work tree; the index names them from the project, which may lie below it."""
    inner = place_in_repository(root)
    folder = derived_folder(root, home)
    return _SCRIPT.format(
        mark=MARK,
        before=BEFORE,
        root=shlex.quote(os.path.realpath(root)),
        inner=shlex.quote(f"/{inner}") if inner else "",
        projects=shlex.quote(os.path.dirname(folder)),
        queue=shlex.quote(os.path.join(folder, QUEUE_NAME)),
        queue_name=QUEUE_NAME,
        staged=STAGED,
        below=f"--relative={shlex.quote(inner)}/ " if inner else "",
    )


def hooks_folder(root: str) -> str:
    """Return where git looks for hooks: `core.hooksPath`, else `hooks` of the repository that all work trees share."""
    place = find_repository(root)
    if place is None:
        raise IndexFailed("{root} is not in a git repository.", root=root)
    work_tree, _ = place
    setting = git_setting(root, "core.hooksPath")
    if setting:
        return os.path.join(work_tree, os.path.expanduser(setting))
    common = safe_git(root, "rev-parse", "--git-common-dir").stdout.decode(errors="surrogateescape").strip()
    return os.path.join(root, common, "hooks")


def install(root: str, home: str | None = None) -> str:
    """Install the hook, or bring it up to date; a hook already there is kept and runs first. Return its path."""
    return put_hook(root, NAME, MARK, script(root, home))


def uninstall(root: str) -> bool:
    """Remove our hook and put back the one that was there before; return False if ours is not installed."""
    return take_hook(root, NAME, MARK)


def put_hook(root: str, name: str, mark: str, text: str) -> str:
    """Install a script as the hook `name`; `mark` is a line of it by which it is known again. Return its path."""
    folder = hooks_folder(root)
    path, before = os.path.join(folder, name), os.path.join(folder, f"{name}{_BEFORE}")
    os.makedirs(folder, exist_ok=True)
    if os.path.lexists(path) and not _is_ours(path, mark):
        if os.path.lexists(before):
            raise IndexFailed("{path} and {before} are both there; remove one of them.", path=path, before=before)
        os.rename(path, before)
    temporary = f"{path}.new-{os.getpid()}"
    with naming(path), open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(temporary, 0o755)  # noqa: S103 - git runs only hooks that may be run
    os.rename(temporary, path)
    return path


def take_hook(root: str, name: str, mark: str) -> bool:
    """Remove a hook that `put_hook` installed and put back the one before it; False if it is not installed."""
    folder = hooks_folder(root)
    path, before = os.path.join(folder, name), os.path.join(folder, f"{name}{_BEFORE}")
    if not _is_ours(path, mark):
        return False
    if os.path.lexists(before):
        os.rename(before, path)
    else:
        os.unlink(path)
    return True


def _is_ours(path: str, mark: str) -> bool:
    try:
        with open(path, "rb") as file:
            return mark.encode() in file.read(4_096)
    except OSError:
        return False
