"""Write and read the times in records."""

from __future__ import annotations

import time
from datetime import datetime


def timestamp() -> str:
    """Return the present time, as RFC 3339 in UTC with milliseconds."""
    seconds = time.time()
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}+00:00"


def moment(text: str) -> datetime:
    """Return the time of an ISO date or time; one without a zone is local. Raises ValueError."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.astimezone()
