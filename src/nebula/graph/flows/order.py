"""What follows from what, and the one order in which nodes are shown: parents before children."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

K = TypeVar("K", int, str)


def reachable(start: K, steps: Mapping[K, Iterable[K]]) -> dict[K, None]:
    """Return the start and all that steps lead to from there, in the order in which they are met."""
    seen = {start: None}
    pending = [start]
    while pending:
        fresh = [each for each in steps.get(pending.pop(), ()) if each not in seen]
        seen.update(dict.fromkeys(fresh))
        pending += fresh
    return seen


def topological_order(
    members: Sequence[K],
    parents: Mapping[K, Sequence[K]],
    children: Mapping[K, Sequence[K]],
    key: Callable[[K], Any] | None = None,
) -> list[K]:
    """Return the members, each after all its parents among them.

    Without a key branches follow one another in the order of the members. With one, of several that could be next the
    least goes first; it is asked only where there is a choice. A circle is broken at its first, or least, member.
    """
    inside = set(members)
    waiting = {each: sum(parent in inside and parent != each for parent in parents.get(each, ())) for each in members}
    ready = [each for each in reversed(members) if waiting[each] == 0]
    order: list[K] = []
    while waiting:
        if not ready:
            ready = [min(waiting, key=key) if key else next(iter(waiting))]
        if key and len(ready) > 1:
            ready.append(ready.pop(ready.index(min(ready, key=key))))
        each = ready.pop()
        if waiting.pop(each, None) is None:
            continue
        order.append(each)
        for child in reversed(children.get(each, ())):
            if child in waiting:
                waiting[child] -= 1
                if waiting[child] == 0:
                    ready.append(child)
    return order
