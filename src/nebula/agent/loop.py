"""The loop: ask the model, run what it calls, hand the results back, until it calls nothing.

It knows contracts only. New behaviour is a new tool, a wrapper around one, a reader of the events, or another way to
build the context; not a new branch here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from nebula.agent.model_call import call_model
from nebula.agent.repeat_breaker import RepeatBreaker
from nebula.agent.turn_result import Ending, TurnLimit, TurnResult
from nebula.errors import NebulaError
from nebula.events import Error, Event, EventStream, Final, Message, Notice, Stamped, Steering, Step, Task, ToolResult
from nebula.language import Sentence, explain_failure, sentence_of
from nebula.llm.contract import Model, ModelReply, ModelRequest
from nebula.llm.errors import FormatError
from nebula.messages import (
    MAX_USER_MESSAGE_SIZE,
    AssistantToolUse,
    ImageBlock,
    ToolSpec,
    ToolUseResult,
    UserMessage,
    strip_hidden_characters,
    truncate_safe_tool_use_results,
)
from nebula.messages import Message as Said
from nebula.messages.truncation import byte_length
from nebula.tools.contract import Call, CancelledLate, Outcome
from nebula.tools.toolset import ToolSet
from nebula.value import field, record, replace

_CUT_SHORT = {
    "length": Sentence("The model stopped at its output limit; what it said is not complete."),
    "filter": Sentence("The provider held the answer back; ask in other words, or choose another model."),
}


class Tools(Protocol):
    """A tool set, or a wrapper around one."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]: ...

    async def run(self, call: Call) -> Outcome:
        """Never raises."""
        ...


@record
class Turn:
    """One turn under way: what it needs, handed in, and what came of it so far."""

    stream: EventStream
    model: Model
    model_name: str
    system: str = ""
    history: list[Said] = field(default_factory=list)
    """The messages of the session; this turn adds its own."""
    tools: Tools = field(default_factory=lambda: ToolSet({}))
    repeats: RepeatBreaker = field(default_factory=RepeatBreaker)
    max_rounds: int = 100
    """Most model calls of the whole turn, with those that repair its work."""
    room_for_results: int = MAX_USER_MESSAGE_SIZE
    """Bytes for all tool results of one message, divided evenly among them."""
    temperature: float | None = None
    seed: int | None = None
    task_id: str | None = None
    node_id: str | None = None
    """The node that the turn will become, where a recorder makes one."""
    steering: Callable[[], str] = str
    """Returns what the user has said since the last round; empty: nothing."""
    fit: Callable[[Sequence[Said]], Sequence[Said]] = lambda history: history
    """Returns the part of the history that is sent: repaired, and cut to the model's context."""
    result: TurnResult = field(default_factory=TurnResult)
    rounds: int = 0
    """Model calls that were made."""

    def tell(self, *events: Event) -> None:
        """Count `events` in the turn's result, then emit them to every reader of the stream."""
        for event in events:
            self.result.read(event)
        for event in events:
            self.stream.emit(event)

    def say(self, prompt: UserMessage) -> None:
        """Add a message of the user to the history; if it is too long to send, its end is cut, and the user is told."""
        cut = prompt.truncate_safe(MAX_USER_MESSAGE_SIZE)
        if cut != prompt:
            limit = f"{MAX_USER_MESSAGE_SIZE:,}"
            cut_off = Sentence("The prompt is longer than {limit} bytes; its end was not sent.", limit=limit)
            self.tell(Notice(cut_off, self.task_id))
            frame = byte_length(cut.content_with_context()) - MAX_USER_MESSAGE_SIZE
            cut = prompt.truncate_safe(MAX_USER_MESSAGE_SIZE - max(frame, 0))
        self.history.append(cut)


def final_of(stamped: Stamped) -> Final:
    """Return the `Final` of an emitted event, as its readers got it."""
    assert isinstance(stamped.event, Final)  # noqa: S101 - only a `Final` is handed in
    return stamped.event


def end_before_session(stream: EventStream, task: Task, problem: BaseException) -> Final:
    """Emit the first and the last event of a turn that failed with `problem` before it had a session."""
    with errors_as_events(stream) as work:
        stream.emit(task, must_record=False)
        _raise(problem)
    return final_of(stream.emit(TurnResult().final(work.ending, None), must_record=False))


@record
class Work:
    """How the work of a block ended."""

    ending: Ending = Ending("ok")


@contextmanager
def errors_as_events(stream: EventStream, task_id: str | None = None) -> Iterator[Work]:
    """Turn an exception of the block into an event; the `Work` that the block gets shows how it ended."""
    work = Work()
    try:
        yield work
    except asyncio.CancelledError:
        work.ending = Ending("interrupted")
    except TurnLimit as limit:
        stream.emit(Notice(sentence_of(limit), task_id), must_record=False)
        work.ending = Ending("limit", sentence_of(limit))
    except (NebulaError, OSError) as problem:
        said = explain_failure(problem) if isinstance(problem, OSError) else sentence_of(problem)
        kind = getattr(problem, "kind", "error")
        detail = _format_traceback(problem) if isinstance(problem, OSError) else None
        usage = problem.usage if isinstance(problem, FormatError) else None
        stream.emit(Error(kind, said, task_id, detail, usage), must_record=False)
        work.ending = Ending("error", said, getattr(problem, "exit_code", None))
    except Exception as bug:  # noqa: BLE001 - a turn always ends with Final; the trace keeps where it went wrong
        said = Sentence("An internal error ended the turn: {problem}", problem=f"{type(bug).__name__}: {bug}")
        stream.emit(Error("internal", said, task_id, _format_traceback(bug)), must_record=False)
        work.ending = Ending("error", said)


def _raise(problem: BaseException) -> None:
    raise problem


def _format_traceback(bug: Exception) -> str:
    import traceback

    return "".join(traceback.format_exception(bug))


async def _ask(turn: Turn) -> tuple[ModelReply, float]:
    """Return the model's next reply, and the seconds it took; unusable replies count in what the turn spent."""
    try:
        return await call_model(turn.model, _build_request(turn), turn.stream, turn.task_id)
    except FormatError as error:
        if error.usage is not None:
            turn.result.spend(error.usage)
        raise


async def run_rounds(turn: Turn) -> TurnResult:
    """Ask the model and run what it calls until it calls nothing; return the turn's result. An exception that ends the
    turn early (a limit, Ctrl-C) leaves the same result in `turn.result`. Raises TurnLimit."""
    while turn.rounds < turn.max_rounds:
        turn.rounds += 1
        reply, seconds = await _ask(turn)
        stop = reply.stop if reply.stop not in ("end", "tool_calls") else None
        turn.tell(Message(reply.message, reply.usage, reply.rung, turn.task_id, seconds, stop, reply.reading_rate))
        if stop in _CUT_SHORT and reply.message.content:  # an answer without text: reported when the turn ends
            turn.tell(Notice(_CUT_SHORT[stop], turn.task_id))
        turn.history.append(reply.message)
        uses = reply.message.tool_uses
        if not uses:
            return turn.result
        said, images = "", list[ImageBlock]()
        try:
            for use in uses:
                outcome = await run_tool(turn, use, uses, reply.invalid_calls.get(use.id))
                images += outcome.images
            if said := strip_hidden_characters(turn.steering()):
                turn.tell(Steering(said))
        finally:
            # Also when interrupted: the model sees the results of calls that ran; the others are answered as cancelled.
            if results := turn.result.rounds[-1].results:
                kept = truncate_safe_tool_use_results(results, turn.room_for_results)
                turn.history.append(UserMessage.new_steered_results(kept, said, images))
    raise TurnLimit("The turn reached its limit of model calls; what was said and done so far is kept.")


def _build_request(turn: Turn) -> ModelRequest:
    sent, tools = turn.fit(turn.history), turn.tools.specs
    return ModelRequest(turn.model_name, turn.system, sent, tools, temperature=turn.temperature, seed=turn.seed)


async def run_tool(
    turn: Turn, use: AssistantToolUse, peers: Sequence[AssistantToolUse] = (), invalid: str | None = None
) -> Outcome:
    """Run one call of a message and return its outcome; `peers` are all calls of that message. `invalid` says why it
    must not run. Raises CancelledLate, with the outcome, if the turn was cancelled in between."""
    original = use.orig_name if use.orig_name != use.name else None
    turn.tell(Step(use.id, use.name, use.args, original, turn.task_id))
    started = time.monotonic()
    room = turn.room_for_results // max(len(peers), 1)
    late: CancelledLate | None = None
    try:
        outcome = turn.repeats.answer(use)
        if outcome is None:
            call = Call(use, turn.stream.emit, peers or (use,), room, invalid, turn.stream.show)
            outcome = await turn.tools.run(call)
            turn.repeats.learn(use, outcome)
    except CancelledLate as cancelled:  # what was done is reported all the same
        outcome, late = cancelled.outcome, cancelled
    seconds = round(time.monotonic() - started if outcome.seconds is None else outcome.seconds, 3)
    how = (outcome.decision, seconds, turn.task_id, outcome.refused, outcome.check, outcome.secret, outcome.evidence)
    turn.tell(
        *(replace(change, task_id=turn.task_id) for change in outcome.changes),
        ToolResult(
            use.name,
            ToolUseResult(use.id, outcome.content, outcome.status),
            *how,
            problem=outcome.problem,
            unchanged=outcome.unchanged,
            lasting=outcome.lasting,
            usage=outcome.usage,
            cost=outcome.cost,
        ),
    )
    if late is not None:
        raise late
    return outcome
