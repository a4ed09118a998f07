"""How a commit's staged change gets into the queue: a few lines of shell that start git once.

`evercontext hook run` runs them while a commit waits, so this module imports next to nothing.
"""

from __future__ import annotations

import os

from nebula.files.home import derived_folder

QUEUE_NAME = "queue"

_SHELL = """(
  queue={queue}
  mkdir -p -m 700 "$queue" &&
  git diff --cached --raw -z -M --no-abbrev --no-ext-diff --ignore-submodules {below}>"$queue/.new-$$" &&
  sync "$queue/.new-$$" &&
  mv "$queue/.new-$$" "$queue/$(date +%s%N)-$$"
) </dev/null >/dev/null 2>&1
"""


def handing_over(queue: str, inner: str = ".") -> str:
    """The shell lines, for a project in the folder `inner` of its work tree."""
    below = "" if inner == "." else f"--relative={_quoted(inner)}/ "
    return _SHELL.format(queue=_quoted(queue), below=below)


def hand_over(root: str, home: str | None = None) -> None:
    """Hands the staged change over, for a hook that somebody else manages. Like the hook, it never fails."""
    lines = _SHELL.format(queue=_quoted(os.path.join(derived_folder(root, home), QUEUE_NAME)), below="--relative ")
    shell = os.posix_spawn("/bin/sh", ["/bin/sh", "-c", f"cd {_quoted(root)} || exit 0\n{lines}"], os.environ)
    os.waitpid(shell, 0)


def _quoted(text: str) -> str:
    """As `shlex.quote`, whose import costs more than all the rest here."""
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"
