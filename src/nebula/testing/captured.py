"""Events, kept as they happen."""

from __future__ import annotations

from typing import TypeVar

from nebula.events import Event, Stamped

E = TypeVar("E", bound=Event)


class CapturedEvents(list[Event]):
    """Events in their order. Call it with a stamped event, as a turn's audience is called, or `emit` one to it."""

    def __call__(self, stamped: Stamped) -> None:
        self.append(stamped.event)

    def emit(self, event: Event) -> None:
        self.append(event)

    @property
    def types(self) -> list[str]:
        return [event.type for event in self]

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of one class."""
        return [event for event in self if isinstance(event, kind)]


def captured_events() -> CapturedEvents:
    """Return a reader that keeps what it reads: `session.turn(prompt, [events])`, or `Call(use, events.emit)`."""
    return CapturedEvents()
