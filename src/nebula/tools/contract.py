"""What the loop knows of a tool.

A tool never raises at the loop. It returns an `Outcome`: blocks for the model, and for everybody else the changes that
it made. The code of a tool may raise `ToolFailure`, which becomes `{"error": "…"}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeVar

from nebula.events import CheckRun, Diff, Event, Evidence, Usage
from nebula.language import Sentence
from nebula.messages import MAX_USER_MESSAGE_SIZE, AssistantToolUse, ImageBlock, Json, Text, ToolResultStatus, ToolSpec
from nebula.programs import RunningPrograms
from nebula.value import value

T = TypeVar("T")


class ToolFailure(Exception):
    """An error for the model: a sentence that says what to do instead."""

    def __init__(
        self,
        sentence: str,
        *,
        code: int = 422,
        policy: bool = False,
        decision: str | None = None,
        unchanged: bool = False,
        problem: Sentence | None = None,
    ) -> None:
        super().__init__(sentence)
        self.code = code
        """The kind of failure as an HTTP status, for the audit log; 422: the call makes no sense."""
        self.policy = policy
        """A rule or a person refused it: a task that ends without it did not do what was asked."""
        self.decision = decision
        self.unchanged = unchanged
        """The file is already as the call wants it."""
        self.problem = problem
        """The error for a person, where there is more to say than that the call failed."""


@value
class Outcome:
    """The result of a call."""

    content: tuple[Text | Json, ...]
    status: ToolResultStatus = ToolResultStatus.Success
    changes: tuple[Diff, ...] = ()
    """What it changed, also where it failed in the end: a change that was made is always reported."""
    check: CheckRun | None = None
    decision: str | None = None
    refused: bool = False
    lasting: bool = False
    """Of a refusal: no later call can make up for it."""
    secret: bool = False
    """It holds the content of a secret file: for the model alone, never for a record."""
    code: int = 200
    problem: Sentence | None = None
    """What went wrong, for a person; None where only the model is told."""
    unchanged: bool = False
    """The file already was as the call wants it: nothing was done."""
    size: int | None = None
    """Bytes of the file that was read or written."""
    evidence: tuple[Evidence, ...] = ()
    """The lines of the project that it showed."""
    images: tuple[ImageBlock, ...] = ()
    """Images that the model gets with the results; they are not recorded."""
    usage: Usage | None = None
    """Tokens that the tool itself spent, and their cost in US dollars; None: nothing, or an unknown price."""
    cost: float | None = None
    seconds: float | None = None
    """How long it worked, where it asked somebody afterwards: waiting for an answer does not count."""

    @classmethod
    def ok(cls, value: Mapping[str, Any], **facts: Any) -> Outcome:
        return cls((Json(dict(value)),), **facts)

    @classmethod
    def failed(cls, failure: ToolFailure) -> Outcome:
        return cls(
            (Json({"error": str(failure)}),),
            ToolResultStatus.Error,
            decision=failure.decision,
            refused=failure.policy,
            code=failure.code,
            unchanged=failure.unchanged,
            problem=failure.problem,
        )


class CancelledLate(asyncio.CancelledError):
    """Raised when work was cancelled while it made a change: the change was completed, with this outcome."""

    def __init__(self, outcome: Any) -> None:
        super().__init__()
        self.outcome = outcome


async def in_thread(work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Do work that only reads in a thread. When this is cancelled, the programs that it runs, such as git, end at
    once."""
    programs = RunningPrograms()
    try:
        return await asyncio.to_thread(programs.have, partial(work, *args, **kwargs))
    except asyncio.CancelledError:
        programs.end()
        raise


async def to_the_end(work: Callable[[], T]) -> T:
    """Make a change in a thread and complete it, also if this is cancelled in between; then raise CancelledLate."""
    making = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        while not making.done():  # it may be cancelled more than once
            with suppress(asyncio.CancelledError):
                await asyncio.wait([making])
        if making.exception() is not None:  # nothing was changed, so the cancellation is what counts
            raise
        raise CancelledLate(making.result()) from None


def _silent(_: Event) -> None:
    return None


@value
class Call:
    """One tool call, as the loop passes it on."""

    use: AssistantToolUse
    emit: Callable[[Event], Any] = _silent
    """Emits an event while the tool works, such as a question."""
    peers: Sequence[AssistantToolUse] = ()
    """All calls of the same message, with this one, so that writes can be decided on together."""
    room: int = MAX_USER_MESSAGE_SIZE
    """Bytes that the result may have in the message to the model. What is longer is cut later, so a tool that has to
    know what the model saw cuts its result itself."""
    invalid: str | None = None
    """Why it cannot be run as the model wrote it."""
    show: Callable[[Event], Any] = _silent
    """Shows an event to those who watch, such as progress; it is not recorded."""
    hear: Callable[[bytes], None] | None = None
    """Gets the output of a command as it comes, in another thread; for a person who typed the command."""


class Tool(Protocol):
    """One capability offered to the model."""

    @property
    def spec(self) -> ToolSpec: ...

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome: ...


@value
class FunctionTool:
    """A tool that is one function, without state from one call to the next."""

    spec: ToolSpec
    work: Callable[[Mapping[str, Any], Call], Awaitable[Outcome]]

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        return await self.work(args, call)


def text_argument(args: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = args.get(name, default)
    if not isinstance(value, str):
        raise ToolFailure(f"The argument '{name}' must be a string.")
    return whole_characters(value, f"The argument '{name}'")


def whole_characters(text: str, what: str) -> str:
    """Return `text`. Raises ToolFailure where it holds half of a character, which JSON allows and no file, program or
    database does."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolFailure(f"{what} is not valid Unicode (it holds a lone surrogate).") from None
    return text


def number_argument(args: Mapping[str, Any], name: str) -> int | None:
    """Return a whole number of 1 or more, or None. Models send 3.0 and "3" for 3; both are accepted."""
    value = args.get(name)
    if value is None:
        return None
    if isinstance(value, str):
        with suppress(ValueError):
            value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ToolFailure(f"The argument '{name}' must be a whole number of 1 or more.")
    return value


def schema(required: Sequence[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False}
