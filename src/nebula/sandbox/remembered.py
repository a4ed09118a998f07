"""What this machine was found to be able to do, for as long as it runs: looked up at every start, so in a blink."""

from __future__ import annotations

import contextlib
import os

AVAILABLE = "available"
ON_DISK = "available on disk"
"""A tmpfs cannot hold the upper side here; nebula's home can."""
OFFERED = (AVAILABLE, ON_DISK)


def recall(cache_folder: str) -> tuple[str, int] | None:
    """Return the step that fails here and its error number, or one of OFFERED; None where nobody has found out."""
    try:
        with open(_note(cache_folder), encoding="ascii") as file:
            step, _, number = file.read(200).partition("\t")
    except (OSError, UnicodeDecodeError):
        return None
    # Empty is one that is just being written.
    return (step, int(number) if number.isdecimal() else 0) if step else None


def remember(cache_folder: str, step: str, number: int) -> None:
    with contextlib.suppress(OSError):  # then it is found out again
        os.makedirs(cache_folder, 0o700, exist_ok=True)
        fd = os.open(_note(cache_folder), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, f"{step}\t{number}".encode("ascii", "replace"))
        finally:
            os.close(fd)


def _note(cache_folder: str) -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return os.path.join(cache_folder, f"layers-{file.read().strip()}-{os.geteuid()}")
