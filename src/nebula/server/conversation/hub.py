"""Events for every subscriber: one numbered ring, and one writer a client.

A client has no queue of events but a position in the ring, so a slow client costs nothing and nobody waits for it. A
client that falls behind the end of the ring gets `resync_required` and continues with new events.

Everything here runs on the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from nebula.events import new_trace_id
from nebula.server.conversation.protocol import event_text

RING_EVENTS: Final = 10_000
RING_CHARACTERS: Final = 32 << 20
MAX_REPLIES: Final = 64
"""How many answers may wait for a client that does not read them; then its requests are not read either."""
RESYNC: Final = "resync_required"


class Published(NamedTuple):
    seq: int
    name: str
    flows: frozenset[str]
    """Ids and names of the flows that it concerns; empty: every flow."""
    trace_id: str
    text: str


class Hub:
    def __init__(self, ring_events: int = RING_EVENTS, ring_characters: int = RING_CHARACTERS) -> None:
        self.epoch = new_trace_id()
        """Identifies this run of the server: sequence numbers of another run mean nothing here."""
        self.seq = 0
        self._ring: dict[int, Published] = {}
        self._size = 0
        self._limits = ring_events, ring_characters
        self._clients: set[Subscriber] = set()

    def publish(
        self, name: str, data: Mapping[str, Any], *, flows: Collection[str] = (), trace_id: str = ""
    ) -> Published:
        self.seq += 1
        event = Published(self.seq, name, frozenset(flows), trace_id, event_text(name, self.seq, data))
        self._ring[event.seq] = event
        self._size += len(event.text)
        self._forget_oldest()
        for client in self._clients:
            client.wake.set()
        return event

    def _forget_oldest(self) -> None:
        most_events, most_characters = self._limits
        while len(self._ring) > most_events or (self._size > most_characters and len(self._ring) > 1):
            self._size -= len(self._ring.pop(next(iter(self._ring))).text)

    def get(self, seq: int) -> Published | None:
        """Return an event; None once it has left the ring."""
        return self._ring.get(seq)

    def can_resume(self, since: int, epoch: str | None) -> bool:
        """Return whether every event after `since` is still in the ring."""
        if since > self.seq or (epoch is not None and epoch != self.epoch):
            return False
        return since == self.seq or since + 1 in self._ring

    def resync_text(self) -> str:
        return event_text(RESYNC, self.seq, {"seq": self.seq, "epoch": self.epoch})

    def attach(self, client: Subscriber) -> None:
        self._clients.add(client)

    def detach(self, client: Subscriber) -> None:
        self._clients.discard(client)


class Subscription(NamedTuple):
    event: str | None
    flow: str | None
    trace_id: str | None
    after: int

    def wants(self, event: Published) -> bool:
        return (
            event.seq > self.after
            and (self.event is None or self.event == event.name)
            and (self.flow is None or not event.flows or self.flow in event.flows)
            and (self.trace_id is None or self.trace_id == event.trace_id)
        )


class Subscriber:
    """The subscriptions of one client, and the writer that sends it events."""

    def __init__(self, hub: Hub) -> None:
        self.wake = asyncio.Event()
        self._hub = hub
        self._place = hub.seq
        self._subscriptions: list[Subscription] = []
        self._outbox: deque[str] = deque()
        self._lost_track = False
        self._has_room = asyncio.Event()
        self._has_room.set()

    def subscribe(
        self, event: str | None = None, flow: str | None = None, trace_id: str | None = None, since: int | None = None
    ) -> None:
        """Subscribe from now on, or from `since` on, which must still be in the ring."""
        start = self._hub.seq if since is None else since
        if start < self._place:
            # Going back must not repeat what the other subscriptions have received already.
            self._subscriptions = [each._replace(after=max(each.after, self._place)) for each in self._subscriptions]
            self._place = start
        self.unsubscribe(event, flow, trace_id)
        self._subscriptions.append(Subscription(event, flow, trace_id, start))
        self.wake.set()

    def unsubscribe(self, event: str | None, flow: str | None, trace_id: str | None = None) -> None:
        gone = (event, flow, trace_id)
        self._subscriptions = [each for each in self._subscriptions if each[:3] != gone]

    def unsubscribe_all(self) -> None:
        self._subscriptions = [each for each in self._subscriptions if each.trace_id]

    def require_resync(self) -> None:
        """Tell the client, after the answers that are waiting, that it missed events."""
        self._lost_track = True
        self.wake.set()

    def reply(self, text: str) -> None:
        self._outbox.append(text)
        if len(self._outbox) >= MAX_REPLIES:
            self._has_room.clear()
        self.wake.set()

    async def until_read(self) -> None:
        """Wait until the client has read its earlier answers."""
        await self._has_room.wait()

    async def write(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Send answers first, then events in order, for as long as the client is connected."""
        while True:
            self.wake.clear()
            while (text := self._next()) is not None:
                await send(text)
            await self.wake.wait()

    def _next(self) -> str | None:
        if self._outbox:
            text = self._outbox.popleft()
            if len(self._outbox) < MAX_REPLIES:
                self._has_room.set()
            return text
        if self._lost_track:
            self._lost_track = False
            return self._hub.resync_text()
        while self._place < self._hub.seq:
            self._place += 1
            event = self._hub.get(self._place)
            if event is None:
                self._place = self._hub.seq
                if self._subscriptions:
                    return self._hub.resync_text()
            elif any(each.wants(event) for each in self._subscriptions):
                if event.name == "final":
                    self.unsubscribe(None, None, event.trace_id)
                return event.text
        return None
