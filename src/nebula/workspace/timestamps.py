"""Time as the records write it: RFC 3339, UTC, milliseconds."""

from __future__ import annotations

import time


def now() -> str:
    seconds = time.time()
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}+00:00"
