"""Run a race in the process that began it: start the tries, read their events, make a node of each that answered."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from nebula.agent.context.project_context import read_git_state
from nebula.agent.places.process import HostProcess
from nebula.agent.places.start import begin_work, give_order, modules_ahead
from nebula.agent.places.wire import HeldStill, PlaceFailed, PlaceOrder, receive
from nebula.agent.race import ATTEMPT
from nebula.agent.race.outcome import TryOutcome
from nebula.agent.race.wire import RaceOrder, TryChanges, TryContent, TryEvent
from nebula.agent.recording.turn_archive import NodeWriter, TurnArchive
from nebula.config import load_settings
from nebula.errors import EXIT_FAILED, EXIT_INTERRUPTED
from nebula.events import Error, Message, Reader, RecordingFailed, Stamped, Task, TurnNotKept, now
from nebula.events import Final as LastEvent
from nebula.graph.values import FileState
from nebula.language import Sentence, sentence_of
from nebula.messages.redaction import Redactor
from nebula.value import field, record, replace
from nebula.workspace.local import LocalWorkspace

FEWEST, MOST = 2, 8

Hear = Callable[[int, Stamped], None]
"""(number of the try, event)."""


@record
class _Running:
    """One try under way."""

    number: int
    trace_id: str
    model: str
    line: socket.socket
    node: Reader
    """Makes the try a node when it ends."""
    writer: asyncio.StreamWriter | None = None
    changes: TryChanges = TryChanges()
    rounds: int = 0
    seq: int = 0
    task: Task | None = None
    final: LastEvent | None = None
    is_stopped: bool = False


@record
class Race:
    """The tries of one order. `run` runs them to their ends; `stop` ends one of them, or all."""

    order: RaceOrder
    archive: TurnArchive
    workspace: LocalWorkspace
    recorders: tuple[Reader, ...]
    """Readers that record the events of every try."""
    hear: Hear
    remark: Callable[[Sentence], None]
    redactor: Redactor = field(default_factory=Redactor)
    """Holds the secrets that the calling turn has read: a try, in its own process, may repeat one without knowing
    it."""
    flow: str = ""
    """The flow for the nodes of the tries; empty: the first flow."""
    host: HostProcess | None = None
    """The process that makes the copies, if somebody started it ahead; then that caller closes it."""
    _tries: list[_Running] = field(default_factory=list)
    _is_stopped: bool = False
    _place_told: bool = False
    _keeping: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self) -> list[TryOutcome]:
        """Run all tries. If this is cancelled, they are stopped, and become nodes with what they have done so far; the
        second time they end at once."""
        host = self.host or HostProcess(ATTEMPT)
        work = asyncio.ensure_future(self._run_tries(host))
        try:
            while not work.done():
                try:
                    await asyncio.wait([work])
                except asyncio.CancelledError:
                    if self._is_stopped:
                        host.end()
                    self.stop()
            work.result()
        finally:
            host.end()
            if host is not self.host:
                await asyncio.to_thread(host.close)
        return [self._outcome(each) for each in self._tries]

    async def _run_tries(self, host: HostProcess) -> None:
        await asyncio.to_thread(self._start, host)
        await asyncio.gather(*(self._follow(each) for each in self._tries))

    def ended(self) -> list[TryOutcome]:
        """Return the outcomes of the tries that have ended."""
        return [self._outcome(each) for each in self._tries if each.final is not None]

    def stop(self, number: int | None = None) -> None:
        """End one try, or all of them: each that has begun still reports what it did."""
        self._is_stopped = self._is_stopped or number is None
        for each in self._tries:
            if number in (None, each.number) and each.final is None:
                _stop(each)

    def _start(self, process: HostProcess) -> None:
        order, said = self.order, dict(self.order.overrides)
        settings = {
            name: load_settings(order.root, overrides=said | ({"model": name} if name else {}))
            for name in dict.fromkeys(order.models)
        }
        modules = modules_ahead(settings.values())
        give_order(process, PlaceOrder(settings[order.models[0]], order.allow, modules))
        from nebula.agent.race.attempt import run_attempt  # in the meantime the other process loads it, too

        git = read_git_state(order.root)  # once, here: the copies need not ask again
        for number, (model, trace_id) in enumerate(zip(order.models, order.trace_ids, strict=True), 1):
            line = begin_work(process, partial(run_attempt, order, number, settings[model], git))
            self._tries.append(self._new_try(number, trace_id, model, line))

    def _new_try(self, number: int, trace_id: str, model: str, line: socket.socket) -> _Running:
        def files() -> tuple[FileState, ...]:
            return running.changes.files

        first = self.order.trace_ids[0]  # tries that begin a conversation are siblings under the first of them
        beginning = "" if self.order.parents or trace_id == first else first
        place = self.archive, self.order.session_id, self.flow
        writer = NodeWriter(*place, workspace=self.workspace, files=files, beginning=beginning)
        running = _Running(number, trace_id, model, line, writer)
        return running

    async def _follow(self, each: _Running) -> None:
        reader, each.writer = await asyncio.open_unix_connection(sock=each.line)
        if self._is_stopped or each.is_stopped:
            _stop(each)
        problem = Sentence("Its process ended before the try did.")
        try:
            while (said := await receive(reader)) is not None:
                match said:
                    case Stamped():
                        await self._take_in(each, self._redacted(said))
                    case TryContent():
                        await self._keep(said.content)
                    case TryChanges():
                        each.changes = said
                    case HeldStill():
                        self._tell_place(said)
                    case PlaceFailed():
                        problem = Sentence("{problem}", problem=said.problem)
        except RecordingFailed as failure:
            problem = sentence_of(failure)
        finally:
            each.writer.close()
        if each.final is None:
            await self._end_badly(each, problem)

    def _redacted(self, stamped: Stamped) -> Stamped:
        return replace(stamped, event=self.redactor.value(stamped.event))

    async def _keep(self, content: bytes) -> None:
        async with self._keeping:
            await asyncio.to_thread(self.workspace.keep_content, content)

    def _tell_place(self, said: HeldStill) -> None:
        if said.remark is not None and not self._place_told:
            self._place_told = True
            self.remark(said.remark)

    async def _take_in(self, each: _Running, stamped: Stamped) -> None:
        event = stamped.event
        each.seq = stamped.seq
        if isinstance(event, Task):
            each.task = event
            each.model = event.model
        elif isinstance(event, Message):
            each.rounds += 1
        elif isinstance(event, LastEvent):
            await self._finish(each, stamped, event)
            return
        self._pass_on(each, stamped)

    async def _finish(self, each: _Running, stamped: Stamped, final: LastEvent) -> None:
        """Make the try a node if it answered or changed something, then pass its last event on."""
        if self.archive.keeps_turns and (final.text.strip() or final.files_changed):
            final = replace(final, node_id=each.trace_id)
            try:
                async with self._keeping:
                    await asyncio.to_thread(each.node, replace(stamped, event=final))
            except TurnNotKept as problem:
                self.remark(sentence_of(problem))
                final = replace(final, node_id=None)
        each.final = final
        self._pass_on(each, replace(stamped, event=final))

    def _pass_on(self, each: _Running, stamped: Stamped) -> None:
        if not isinstance(stamped.event, LastEvent):
            each.node(stamped)
        place = stamped.trace_id, stamped.session_id, stamped.seq, stamped.ts
        numbered = stamped if self.order.fresh else TryEvent(stamped.event, *place, each.number)
        for recorder in self.recorders:
            recorder(numbered)
        self.hear(each.number, numbered)

    async def _end_badly(self, each: _Running, problem: Sentence) -> None:
        trace, session = each.trace_id, self.order.session_id

        def stamp(event: Any) -> Stamped:
            each.seq += 1
            return self._redacted(Stamped(event, trace, session, each.seq, now().isoformat()))

        if each.task is None:
            each.task = Task(self.order.prompt, self.order.mode, each.model, "", self.order.parents)
            self._pass_on(each, stamp(each.task))
        if each.is_stopped:
            each.final = LastEvent("", "interrupted", EXIT_INTERRUPTED)
        else:
            self._pass_on(each, stamp(Error("try", problem)))
            each.final = LastEvent("", "error", EXIT_FAILED, remark=problem)
        self._pass_on(each, stamp(each.final))

    def _outcome(self, each: _Running) -> TryOutcome:
        assert each.final is not None  # noqa: S101 - whatever happened, it was given one
        return TryOutcome(each.number, each.trace_id, each.model, each.final, each.changes.files, each.rounds)


def _stop(each: _Running) -> None:
    """Have a try end by itself; one that has not begun has nothing to report."""
    each.is_stopped = True
    if each.writer is not None and each.task is None:
        each.writer.close()
    elif each.writer is not None:
        each.writer.write(b"x")
