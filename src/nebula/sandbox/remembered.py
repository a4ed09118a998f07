"""What this machine was found to be able to do, for as long as it runs: looked up at every start, so in a blink.

Whether commands can be offered is part of the very first request, and trying it takes a fifth of the time until then:
where it is not known yet, a process of its own tries while the rest of the program is still being loaded. It writes the
answer down where everybody looks for it, and ends by itself should nobody wait.
"""

from __future__ import annotations

import contextlib
import os
import sys

from nebula.files.descriptors import closed_after
from nebula.programs import own_program

AVAILABLE = "available"
ON_DISK = "available on disk"
"""A tmpfs cannot hold the upper side here; nebula's home can."""
OFFERED = (AVAILABLE, ON_DISK)
_TRY = "from nebula.sandbox.capability import capability; capability(sys.argv[2])"
_NOWHERE = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
_begun: dict[str, int] = {}


def recall(cache_folder: str) -> tuple[str, int] | None:
    """Return the step that fails here and its error number, or one of OFFERED; None where nobody has found out."""
    try:
        note = _note(cache_folder)
    except OSError:
        return "platform", 0  # no kernel that tells when it was booted: no Linux, or one without /proc
    try:
        with open(note, encoding="utf-8") as file:
            step, _, number = file.read(200).partition("\t")
    except (OSError, UnicodeDecodeError):
        return None
    # Empty is one that is just being written.
    return (step, int(number) if number.isdecimal() else 0) if step else None


def remember(cache_folder: str, step: str, number: int) -> None:
    with contextlib.suppress(OSError):  # then it is found out again
        os.makedirs(cache_folder, 0o700, exist_ok=True)
        with closed_after(
            os.open(_note(cache_folder), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        ) as fd:
            os.write(fd, f"{step}\t{number}".encode("ascii", "replace"))


def begin_trial(home: str) -> None:
    """Find out in the background whether this machine can make layers, where that is not known yet."""
    if home in _begun or not sys.executable or recall(home) is not None:
        return
    try:
        _begun[home] = os.posix_spawn(sys.executable, own_program(_TRY, home), os.environ, file_actions=_NOWHERE)
    except OSError:
        return  # then it is found out when somebody asks


def recall_or_wait(home: str) -> tuple[str, int] | None:
    """Like `recall`, after the end of a trial that was begun: it knows sooner than a second one would."""
    process = _begun.pop(home, None)
    if process is not None:
        os.waitpid(process, 0)
    return recall(home)


def _note(cache_folder: str) -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
        return os.path.join(cache_folder, f"layers-{file.read().strip()}-{os.geteuid()}")
