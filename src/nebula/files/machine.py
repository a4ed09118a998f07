"""What this machine has to give, asked in the way that its system answers."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Return how many cores this process may use: Linux tells, elsewhere all of them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
