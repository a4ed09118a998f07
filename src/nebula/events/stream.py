"""The stream of a turn: it stamps each event, takes secrets out of it, and hands it to everybody who reads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

from nebula.errors import NebulaError
from nebula.events.approval import Approval
from nebula.events.facts import Event
from nebula.events.turn import Error, Final, Notice, Task, ToolResult
from nebula.language import Sentence, sentence_of
from nebula.messages.redaction import Redactor
from nebula.value import field, record, replace, value


@value
class Stamped:
    """An event in its place: the one form that readers get and the wire carries."""

    event: Event
    trace_id: str
    session_id: str
    seq: int
    ts: str

    def to_json(self) -> dict[str, Any]:
        place = {
            "type": self.event.type,
            "trace_id": self.trace_id,
            "session_id": self.session_id,
            "seq": self.seq,
            "ts": self.ts,
        }
        return place | self.event.to_json()


Reader = Callable[[Stamped], None]
"""One who reads the stream: a recorder, or somebody in the audience."""


class RecordingFailed(NebulaError):
    """An event could not be written down. The turn ends: what cannot be recorded must not go on."""

    kind = "recording"


class TurnNotKept(NebulaError):
    """The turn could not become a node of the graph. Nothing is lost: memory and log have every word of it."""


def new_trace_id() -> str:
    """Return a UUID of version 7: it sorts by time. It names the task in every log, and the node that the turn
    becomes."""
    milliseconds = time.time_ns() // 1_000_000
    chance = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | (chance >> 68) << 64 | 0b10 << 62
    text = f"{value | (chance & 0x3FFF_FFFF_FFFF_FFFF):032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def now() -> datetime:
    """Return the present, aware of its zone, as every timestamp here is."""
    seconds = time.time()
    return datetime.fromtimestamp(seconds, _zone(time.localtime(seconds).tm_gmtoff))


@lru_cache(maxsize=4)
def _zone(offset_s: int) -> timezone:
    return timezone(timedelta(seconds=offset_s))


@record
class EventStream:
    """Stamps events and hands each to every recorder and then to the audience, in order, before the next may happen.

    Here secrets are taken out, once, before anybody reads: recorders and audience alike get the redacted event. Only
    a question is shown as it is, and to the audience alone: what somebody approves must be seen.
    """

    session_id: str
    trace_id: str = field(default_factory=new_trace_id)
    recorders: tuple[Reader, ...] = ()
    audience: tuple[Reader, ...] = ()
    redactor: Redactor = field(default_factory=Redactor)
    seq: int = 0
    watchers: tuple[Reader, ...] = ()
    """They are also shown what goes on between two events."""
    said: list[Sentence] = field(default_factory=list)
    """What the user was told beside the answer: every notice, and what a door adds. The last event holds all of it."""

    def read_first_by(self, reader: Reader) -> None:
        self.recorders = (reader, *self.recorders)

    def emit(self, event: Event, *, must_record: bool = True) -> Stamped:
        """Stamp `event`, hand it to everybody, and return it as they got it.

        Without `must_record` a failing recorder keeps nobody else from hearing how the turn ended. A `Final` whose turn
        the graph cannot keep comes without its node, after an `Error` that says why.
        """
        if isinstance(event, Notice):
            self.said.append(event.sentence)
        elif isinstance(event, Final):
            event = replace(event, remarks=(*event.remarks, *self.said))
            self.said.clear()
        stamped = Stamped(
            self._redacted(event),
            self.trace_id,
            self.session_id,
            self.seq + 1,
            now().isoformat(timespec="milliseconds"),
        )
        for recorder in self.recorders:
            try:
                recorder(stamped)
            except TurnNotKept as problem:  # by the first recorder: nobody else has seen this event yet
                self.emit(Error("graph", sentence_of(problem)), must_record=False)
                remark = getattr(event, "remark", None) or sentence_of(problem)
                return self.emit(replace(event, node_id=None, remark=remark), must_record=False)
            except Exception as problem:
                if must_record:
                    self.seq += 1
                    raise RecordingFailed(
                        "This turn could not be recorded ({problem}). Make room or repair the file, then go on.",
                        problem=problem,
                    ) from problem
        self.seq += 1
        shown = replace(stamped, event=event) if isinstance(event, Approval) and event.decision is None else stamped
        for show in self.audience:
            show(shown)
        return stamped

    def show(self, event: Event) -> None:
        """Hand an event that is not recorded to those who watch; it has the number of the last one that was."""
        if self.watchers:
            place = self.trace_id, self.session_id, self.seq, now().isoformat(timespec="milliseconds")
            stamped = Stamped(self._redacted(event), *place)
            for watch in self.watchers:
                watch(stamped)

    def _redacted(self, event: Event) -> Event:
        if isinstance(event, ToolResult) and event.secret:
            event = replace(event, result=self.redactor.secret_result(event.result))
        elif isinstance(event, Task) and any(each.secret for each in event.attachments):
            for each in event.attachments:
                if each.secret:
                    self.redactor.learn(each.text)
            event = replace(event, attachments=tuple(each.recorded() for each in event.attachments))
        elif isinstance(event, Approval):
            event = replace(event, changes=tuple(each.recorded() for each in event.changes))
        return self.redactor.value(event)
