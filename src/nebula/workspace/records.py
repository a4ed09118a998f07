"""How records name a moment."""

from __future__ import annotations

import time


def timestamp() -> str:
    """Now, as RFC 3339 in UTC with milliseconds."""
    seconds = time.time()
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}+00:00"
