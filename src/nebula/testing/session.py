"""A session with a model that plays a script: everything else in it is the real thing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Any

from nebula.agent.assembly import open_session
from nebula.agent.session import Session
from nebula.config import Settings
from nebula.events import Approval, Final
from nebula.llm.choose import ChosenModel
from nebula.llm.contract import ModelRequest, StreamItem
from nebula.llm.errors import ModelError
from nebula.llm.replay import ReplayModel
from nebula.testing.captured import CapturedEvents
from nebula.testing.script import ScriptedReply
from nebula.tools.approval import Decision, allow_all
from nebula.value import field, record

NAME = "scripted"
Reply = ScriptedReply | str | Mapping[str, Any] | ModelError | Callable[[], Awaitable[Mapping[str, Any] | None]]
"""A reply, its text alone, the same as `{"text": …, "tool_calls": […]}`, an error to raise, or a function to await that
returns the reply."""


class ScriptEnded(Exception):
    """Raised when more is asked than the script answers."""


class ScriptedConnector(ReplayModel):
    """A model's connector, in this process: it plays the replies one by one, and keeps every request."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        super().__init__(())
        self._left = list(replies)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        self.requests.append(request)
        if not self._left:
            raise ScriptEnded(f"The script has no reply to request {len(self.requests)}.")
        reply = self._left.pop(0)
        if isinstance(reply, ModelError):
            raise reply
        if callable(reply):
            reply = await reply() or {"text": ""}
        async for item in ReplayModel([_as_recorded(reply)]).stream(request):
            yield item


def _as_recorded(reply: ScriptedReply | str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(reply, str):
        return {"text": reply}
    if isinstance(reply, ScriptedReply):
        calls = [{"name": call.name, "args": call.args, "id": call.id} for call in reply.calls]
        return {"text": reply.text, "tool_calls": calls}
    return reply


@record
class ScriptedSession:
    """A session under test, with what it was asked and what it said."""

    session: Session
    model: ScriptedConnector
    events: CapturedEvents = field(default_factory=CapturedEvents)
    """Those of all its turns."""
    questions: list[Approval] = field(default_factory=list)
    """What the user was asked, each with the answer that the script gave."""

    @property
    def root(self) -> str:
        return self.session.settings.root

    @property
    def requests(self) -> list[ModelRequest]:
        return self.model.requests

    async def turn(self, prompt: str = "go", **options: Any) -> Final:
        """Run a turn, as `Session.turn` does, and capture its events."""
        return await self.session.turn(prompt, [self.events], **options)


@asynccontextmanager
async def scripted_session(
    replies: Sequence[Reply],
    decisions: Sequence[str | Decision] | None = None,
    *,
    root: str | os.PathLike[str] = "",
    settings: Settings | None = None,
    **options: Any,
) -> AsyncIterator[ScriptedSession]:
    """Open a session whose model says `replies` and whose user answers `decisions` ("yes", "no", "all", a reason).

    Without `decisions` everything is allowed that --yes allows. It works in `root`, by default in an empty directory
    that is gone afterwards, with a home of its own; `settings` take the place of both. `options` are those of
    `open_session`. Raises ScriptEnded where a question has no answer.
    """
    model, questions = ScriptedConnector(replies), list[Approval]()
    answers = None if decisions is None else list(decisions)

    async def decide(question: Approval) -> Decision:
        questions.append(question)
        if answers is None:
            return await allow_all(question)
        if not answers:
            raise ScriptEnded(f"The script has no answer to question {len(questions)}.")
        answer = answers.pop(0)
        return answer if isinstance(answer, Decision) else Decision.read(answer)

    with ExitStack() as made:
        if settings is None:
            home = made.enter_context(tempfile.TemporaryDirectory())
            settings = Settings(home=home, root=os.fspath(root) or made.enter_context(tempfile.TemporaryDirectory()))
        chosen = ChosenModel(model, NAME, settings.context_tokens)
        session = await open_session(settings, approver=decide, chosen=chosen, **options)
        try:
            yield ScriptedSession(session, model, questions=questions)
        finally:
            await session.close()
