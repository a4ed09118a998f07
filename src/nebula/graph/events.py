"""Reports to subscribers what happened to the graph, in order, after it is on the disk.

What an event carries, besides `node_id` or `flow_id`:

    node_created     node (the whole value), flow_id, parents (the connections that lead to it)
    node_updated     node; summary_built the same, for a node whose summary was built
    node_deleted     nothing more
    flow_updated     name, change (a FlowChange; none for a flow that is new)
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

Subscriber = Callable[[str, dict[str, Any]], None]

NODE_CREATED = "node_created"
NODE_UPDATED = "node_updated"
NODE_DELETED = "node_deleted"
FLOW_UPDATED = "flow_updated"
SUMMARY_BUILT = "summary_built"


class Events:
    """`note` while holding the store's lock keeps the order; `publish` after letting it go calls out."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []
        self._waiting: deque[tuple[str, dict[str, Any]]] = deque()
        self._calling = threading.RLock()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber(name, data)` for each event from now on; return what ends that."""
        self._subscribers = [*self._subscribers, subscriber]

        def unsubscribe() -> None:
            self._subscribers = [other for other in self._subscribers if other is not subscriber]

        return unsubscribe

    @property
    def has_subscribers(self) -> bool:
        return bool(self._subscribers)

    def note(self, name: str, /, **data: Any) -> None:
        if self._subscribers:
            self._waiting.append((name, data))

    def publish(self) -> None:
        with self._calling:
            while self._waiting:
                name, data = self._waiting.popleft()
                for subscriber in self._subscribers:
                    self._call(subscriber, name, data)

    def _call(self, subscriber: Subscriber, name: str, data: dict[str, Any]) -> None:
        try:
            subscriber(name, data)
        except Exception as error:  # noqa: BLE001
            # The write has happened: a listener's trouble must not look like a failed write.
            warnings.warn(f"a subscriber failed on {name}: {error!r}", RuntimeWarning, stacklevel=2)
