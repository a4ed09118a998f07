"""Ids and times of new nodes: UUIDv7, and ISO 8601 with the local offset, always 32 characters."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise

from nebula.files.digest import digest

_last_tick = 0
_tick_lock = threading.Lock()


def new_id() -> str:
    """Return a UUIDv7 (RFC 9562): it sorts by time, and strictly so among those made by one process.

    The 12 bits after the millisecond hold its fraction, stepped when two are made within 244 ns.
    """
    global _last_tick
    with _tick_lock:
        milliseconds, rest = divmod(time.time_ns(), 1_000_000)
        tick = max((milliseconds << 12) | (rest * 4096 // 1_000_000), _last_tick + 1)
        _last_tick = tick
    head, tail = f"{tick:015x}", os.urandom(8).hex()
    variant = "89ab"[int(tail[0], 16) & 3]
    return f"{head[:8]}-{head[8:12]}-7{head[12:]}-{variant}{tail[1:4]}-{tail[4:]}"


def id_of_content(data: bytes) -> str:
    """Return a UUIDv8 (RFC 9562) that is the same for the same bytes: what a check announces is what a repair does."""
    digits = digest(data)
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def shortest_unique(ids: Iterable[str], among: Iterable[str] = (), at_least: int = 4) -> dict[str, str]:
    """Return each id with the shortest beginning that no other of `ids` and `among` shares, `at_least` characters
    long."""
    wanted = set(ids)
    ordered = sorted(wanted.union(among))
    shared = [_shared(one, other) for one, other in pairwise(ordered)]
    needed = zip(ordered, [0, *shared], [*shared, 0], strict=False)  # of none there is one neighbour too many
    return {each: each[: max(left + 1, right + 1, at_least)] for each, left, right in needed if each in wanted}


def _shared(one: str, other: str) -> int:
    return next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))


def now() -> str:
    seconds, microseconds = divmod(time.time_ns() // 1000, 1_000_000)
    local = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(seconds))  # a third of what datetime takes
    return f"{local[:19]}.{microseconds:06}{local[19:22]}:{local[22:24]}"


def sort_key(timestamp: str) -> tuple[bool, float, str]:
    """Return what orders timestamps of files by the moment they name; those without a zone count as UTC, bad ones as
    oldest."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return (False, 0.0, timestamp)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (True, moment.timestamp(), timestamp)
