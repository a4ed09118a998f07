"""What a tool is, to the loop that calls it.

A tool never raises at the loop. It returns an `Outcome`: blocks for the model, and for everybody else the changes it
made. Inside the room a tool may raise `ToolFailure`, which becomes `{"error": "…"}`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from nebula.events import CheckRun, Diff, Event, Evidence, Usage
from nebula.language import Sentence
from nebula.messages import MAX_USER_MESSAGE_SIZE, AssistantToolUse, ImageBlock, Json, Text, ToolResultStatus, ToolSpec
from nebula.value import value


class ToolFailure(Exception):
    """What the model reads, as it stands: a sentence that says what to do instead."""

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
        """What kind of failure, as HTTP would number it, for the audit log; of a call that makes no sense 422."""
        self.policy = policy
        """Refused by a rule or a person, not failed: a task that ends without it did not do what was asked."""
        self.decision = decision
        self.unchanged = unchanged
        """The file is already as the call wants it."""
        self.problem = problem
        """The same for a person, where there is more to say than that it failed."""


@value
class Outcome:
    """What a call came to."""

    content: tuple[Text | Json, ...]
    status: ToolResultStatus = ToolResultStatus.Success
    changes: tuple[Diff, ...] = ()
    """What it changed, also where it failed in the end: a change that was made is never passed over."""
    check: CheckRun | None = None
    decision: str | None = None
    refused: bool = False
    lasting: bool = False
    """Of a refusal: nothing that is done later makes up for it."""
    secret: bool = False
    """It shows what a secret file holds: meant for the model alone, and for nobody's records."""
    code: int = 200
    problem: Sentence | None = None
    """What went wrong, for a person; None where only the model was told."""
    unchanged: bool = False
    """The file was already as the call wants it: nothing was to be done."""
    size: int | None = None
    """Bytes of the file that was read or written."""
    evidence: tuple[Evidence, ...] = ()
    """The places of the project that it showed."""
    images: tuple[ImageBlock, ...] = ()
    """Pictures that the model is shown with the results; nobody records them."""
    usage: Usage | None = None
    """Tokens that it cost by itself, and what they cost in US dollars; None: nothing, or an unknown price."""
    cost: float | None = None
    seconds: float | None = None
    """How long it worked, where somebody was asked afterwards: to wait for an answer is no work."""

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
    """Cancelled while a change was being made: it was made to its end, and this is what came of it."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__()
        self.outcome = outcome


async def to_the_end(work: Callable[[], Outcome]) -> Outcome:
    """Makes a change in a thread, to its end also when the turn is cancelled meanwhile. Raises CancelledLate then."""
    making = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        while not making.done():  # it may be cancelled more than once
            with suppress(asyncio.CancelledError):
                await asyncio.wait([making])
        if making.exception() is not None:  # nothing was changed, and being given up is what counts now
            raise
        raise CancelledLate(making.result()) from None


def _silent(_: Event) -> None:
    return None


@value
class Call:
    """One tool call as the loop hands it over."""

    use: AssistantToolUse
    emit: Callable[[Event], Any] = _silent
    """Where a tool tells what happens while it works, such as the question it asks."""
    peers: Sequence[AssistantToolUse] = ()
    """All calls of the same message, this one among them, so that writes can be looked at together."""
    room: int = MAX_USER_MESSAGE_SIZE
    """Bytes that the result may take in the message to the model. What is beyond is cut there and never seen, so a
    tool that must know what the model saw cuts by itself."""
    invalid: str | None = None
    """Why it cannot be run as the model wrote it."""
    show: Callable[[Event], Any] = _silent
    """Where it tells what is only shown, to those who watch: how far it is."""
    hear: Callable[[bytes], None] | None = None
    """Gets all that a command says, as it says it, in a thread of its own; for whoever typed the command."""


class Tool(Protocol):
    """One capability offered to the model."""

    @property
    def spec(self) -> ToolSpec: ...

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome: ...


@value
class FunctionTool:
    """A tool that is one function, which has nothing to remember from one call to the next."""

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
    """JSON can say half of a character, and no file, program or database takes it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolFailure(f"{what} is not valid Unicode (it holds a lone surrogate).") from None
    return text


def number_argument(args: Mapping[str, Any], name: str) -> int | None:
    """Return a whole number of 1 or more, or None. Models send 3.0 and "3" for 3; both are plain enough."""
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
