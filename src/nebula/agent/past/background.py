"""Summaries that are made while the conversation goes on, and given up when it is closed: a later build makes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from nebula.agent.conversation import Conversation, PastTurn
from nebula.agent.past.summaries import SummaryWork, soon_needed, summarise
from nebula.agent.recording.turn_archive import TurnArchive
from nebula.llm.choose import ChosenModel
from nebula.value import field, record


@record
class BackgroundSummaries:
    """The summaries of one session: what they have cost, and those that are being made."""

    archive: TurnArchive
    ahead: bool = False
    """Turns that will soon not fit are summarised before they have to be: for sessions that go on for long."""
    newest: bool = False
    """Each turn is summarised once it has ended."""
    work: SummaryWork = field(default_factory=SummaryWork)
    _chores: list[asyncio.Task[None]] = field(default_factory=list)

    def begin(self, conversation: Conversation, room: int, chosen: ChosenModel, then: Callable[[], None]) -> None:
        """Start the summaries that are due, one batch at a time, and call `then`; `room` is that for the past."""
        self._chores = [chore for chore in self._chores if not chore.done()]
        if self._chores or self.work.is_hopeless or self.archive.graph is None:
            return
        due = soon_needed(conversation, room, self.archive.find) if self.ahead else []
        if self.newest and conversation.turns[-1] not in due:
            due.insert(0, conversation.turns[-1])
        if due:
            self._chores.append(asyncio.create_task(self._make(due, chosen, then)))

    async def make(self, due: Sequence[PastTurn], chosen: ChosenModel) -> None:
        if self.archive.graph is not None:
            await summarise(due, self.archive.graph, chosen, self.work)

    async def _make(self, due: Sequence[PastTurn], chosen: ChosenModel, then: Callable[[], None]) -> None:
        await self.make(due, chosen)
        then()

    @property
    def is_working(self) -> bool:
        return any(not chore.done() for chore in self._chores)

    async def finish(self) -> None:
        """Wait for the summaries that are being made."""
        await asyncio.gather(*self._chores, return_exceptions=True)

    async def close(self) -> None:
        """Give up the summaries that are being made."""
        for chore in self._chores:
            chore.cancel()
        await self.finish()
