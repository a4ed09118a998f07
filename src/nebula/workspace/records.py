"""How records name a content and a moment."""

from __future__ import annotations

import time


def digest(content: bytes) -> str:
    """The name of a content: its sha256."""
    from hashlib import sha256  # loads the TLS library: 5 ms that an import need not pay

    return sha256(content).hexdigest()


def timestamp() -> str:
    """Now, as RFC 3339 in UTC with milliseconds."""
    seconds = time.time()
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}+00:00"
