"""Races that clients started: the events of a try come like those of a turn, with its own trace id and its number."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from nebula.agent.race.outcome import TryOutcome
from nebula.errors import NebulaError
from nebula.events import Notice, Stamped, now
from nebula.language import Sentence, sentence_of
from nebula.server.conversation.graph_watch import GraphWatch
from nebula.server.conversation.hub import Hub
from nebula.value import record

if TYPE_CHECKING:
    from nebula.agent.race.race import Race

_log = logging.getLogger(__name__)


Opinion = Callable[[Sequence[TryOutcome]], Awaitable[str]]


@record
class RunningRace:
    trace_id: str
    race: Race
    sender: object
    opinion: Opinion | None = None
    """Asks the judge, if one was named."""
    task: asyncio.Task[None] | None = None


class Races:
    def __init__(self, hub: Hub, watch: GraphWatch) -> None:
        self._hub = hub
        self._watch = watch
        self._running: dict[str, RunningRace] = {}

    def start(self, race: Race, trace_id: str, sender: object, opinion: Opinion | None = None) -> None:
        """Begin a race and return at once; its last event has `trace_id`."""
        running = RunningRace(trace_id, race, sender, opinion)
        self._running[trace_id] = running
        running.task = asyncio.create_task(self._run(running))

    def hear(self, _: int, stamped: Stamped) -> None:
        self._watch.drain()
        self._hub.publish(stamped.event.type, stamped.to_json(), trace_id=stamped.trace_id)

    def remark(self, trace_id: str, sentence: Sentence) -> None:
        stamped = Stamped(Notice(sentence), trace_id, "", 0, now().isoformat())
        self._hub.publish(stamped.event.type, stamped.to_json(), trace_id=trace_id)

    def under_way(self) -> list[dict[str, Any]]:
        """Return the running races as a client has to know them that connects later."""
        return [
            {"trace_id": each.trace_id, "trace_ids": list(order.trace_ids), "models": list(order.models)}
            | {"prompt": order.prompt, "parents": list(order.parents), "flow_id": each.race.flow}
            for each in self._running.values()
            for order in [each.race.order]
        ]

    def cancel(self, trace_id: str | None, sender: object) -> list[str]:
        """Stop one race or one try, or all races of the sender; return the trace ids."""
        for each in self._running.values():
            if trace_id in each.race.order.trace_ids:
                each.race.stop(each.race.order.trace_ids.index(trace_id) + 1)
                return [trace_id]
        found = [
            each
            for each in self._running.values()
            if (each.trace_id == trace_id if trace_id is not None else each.sender is sender)
        ]
        for each in found:
            if each.task is not None:
                each.task.cancel()
        return [each.trace_id for each in found]

    async def close(self) -> None:
        tasks = [each.task for each in self._running.values() if each.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, running: RunningRace) -> None:
        tries: list[Any] = []
        opinion: dict[str, str] = {}
        try:
            done = await running.race.run()
            tries = [each.to_json() for each in done]
            if running.opinion is not None:
                opinion = {"opinion": await running.opinion(done)}
        except NebulaError as problem:
            self.remark(running.trace_id, sentence_of(problem))
        except Exception:  # noqa: BLE001 - whoever waits for this race must hear that it is over
            _log.exception("a race failed")
        finally:
            del self._running[running.trace_id]
            self._watch.drain()
            place = {"type": "final", "trace_id": running.trace_id, "session_id": running.race.order.session_id}
            data = place | {"seq": 1, "ts": now().isoformat(), "tries": tries, "taken": None} | opinion
            self._hub.publish("final", data, trace_id=running.trace_id)
