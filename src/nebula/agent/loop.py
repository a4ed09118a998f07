"""The loop: ask the model, run what it calls, hand the results back, until it calls nothing.

It knows contracts only. New behaviour is a new tool, a wrapper around one, a reader of the events, or another way to
build the context; not a new branch here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import Protocol

from nebula.agent.repeat_breaker import RepeatBreaker
from nebula.agent.turn_result import Ending, TurnLimit, TurnResult
from nebula.errors import NebulaError
from nebula.events import (
    Citations,
    Diff,
    Error,
    EventStream,
    Final,
    Message,
    Notice,
    RecordingFailed,
    Retry,
    Steering,
    Step,
    Task,
    ToolResult,
    TurnNotKept,
)
from nebula.language import Sentence, sentence_of
from nebula.llm.contract import Model, ModelNotice, ModelReply, ModelRequest, Retrying
from nebula.llm.errors import BadReplyError, ModelError
from nebula.messages import (
    MAX_USER_MESSAGE_SIZE,
    AssistantToolUse,
    ToolSpec,
    ToolUseResult,
    UserMessage,
    strip_hidden_characters,
    truncate_safe_tool_use_results,
)
from nebula.messages import Message as Said
from nebula.messages.truncation import byte_length
from nebula.tools.contract import Call, CancelledLate, Outcome
from nebula.value import field, record, replace

_CUT_SHORT = {
    "length": Notice("The model stopped at its output limit; what it said is not complete."),
    "filter": Notice("The provider held the answer back; ask in other words, or choose another model."),
}


def _as_it_is(history: Sequence[Said]) -> Sequence[Said]:
    return history


def _unchecked(_: str, __: Sequence[ToolUseResult]) -> Citations | None:
    return None


class Tools(Protocol):
    """A tool set, or a wrapper around one."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]: ...

    async def run(self, call: Call) -> Outcome:
        """Never raises."""
        ...


@record
class Turn:
    """Everything one turn needs, handed in."""

    stream: EventStream
    model: Model
    model_name: str
    system: str
    history: list[Said]
    """Grows by the turn's own messages, and stays with the session."""
    tools: Tools
    repeats: RepeatBreaker = field(default_factory=RepeatBreaker)
    max_rounds: int = 100
    room_for_results: int = MAX_USER_MESSAGE_SIZE
    """Bytes for all results of one message; they share it evenly."""
    temperature: float | None = None
    seed: int | None = None
    task_id: str | None = None
    node_id: str | None = None
    """The node that the turn becomes, where a recorder makes it one."""
    steering: Callable[[], str] = str
    """What the user has said since the last round; empty: nothing."""
    notices: Sequence[Notice] = ()
    """What the user should know before anything else."""
    fit: Callable[[Sequence[Said]], Sequence[Said]] = _as_it_is
    """What of the history is sent: repaired, and cut to the model's context."""
    afterwards: Callable[[Turn, TurnResult], Awaitable[None]] | None = None
    """What there is to do once the model has nothing more to call: checks, and their repair."""
    cited: Callable[[str, Sequence[ToolUseResult]], Citations | None] = _unchecked
    """How many of the places that an answer cites are there."""


async def run_turn(turn: Turn, task: Task, prompt: UserMessage) -> Final:
    """One turn from `Task` to `Final`. Cancelling it ends it properly, with the status `interrupted`."""
    result = TurnResult()
    turn.stream.read_first_by(result)
    with errors_as_events(turn.stream, turn.task_id) as work:
        for event in (task, *turn.notices):
            turn.stream.emit(event)
        turn.history.append(_within_limit(turn, prompt))
        await run_rounds(turn)
        if turn.afterwards is not None:
            await turn.afterwards(turn, result)
    results = [each for done in result.rounds for each in done.results]
    final = replace(result.final(work.ending, turn.node_id), citations=turn.cited(result.answer, results))
    try:
        turn.stream.emit(final, must_record=False)
    except TurnNotKept as problem:
        turn.stream.emit(Error("graph", problem.sentence, problem.values, turn.task_id), must_record=False)
        final = replace(final, node_id=None)
        turn.stream.emit(final, must_record=False)
    return final


@record
class Work:
    ending: Ending = Ending("ok")


@contextmanager
def errors_as_events(stream: EventStream, task_id: str | None = None) -> Iterator[Work]:
    """How the work of the block ended; what went wrong in it is an event, never an exception."""
    work = Work()
    try:
        yield work
    except asyncio.CancelledError:
        work.ending = Ending("interrupted")
    except TurnLimit as limit:
        stream.emit(Notice(limit.sentence, limit.values, task_id), must_record=False)
        work.ending = Ending("limit", sentence_of(limit))
    except ModelError as error:
        stream.emit(Error(error.kind, error.sentence, error.values, task_id), must_record=False)
        work.ending = Ending("error", sentence_of(error), error.exit_code)
    except RecordingFailed as failure:
        stream.emit(Error("recording", failure.sentence, failure.values, task_id), must_record=False)
        work.ending = Ending("error", sentence_of(failure))
    except NebulaError as problem:  # an audience that nothing can be shown to any more
        kind = getattr(problem, "kind", "output")
        stream.emit(Error(kind, problem.sentence, problem.values, task_id), must_record=False)
        work.ending = Ending("error", sentence_of(problem), problem.exit_code)
    except Exception as bug:  # noqa: BLE001 - a turn always ends with Final; the trace keeps where it went wrong
        internal = Error(
            "internal",
            "An internal error ended the turn: {problem}",
            {"problem": f"{type(bug).__name__}: {bug}"},
            task_id,
            _where(bug),
        )
        stream.emit(internal, must_record=False)
        work.ending = Ending("error", Sentence(internal.sentence, **internal.values))


def _within_limit(turn: Turn, prompt: UserMessage) -> UserMessage:
    """A prompt too long to send loses its end, and the user is informed."""
    cut = prompt.truncate_safe(MAX_USER_MESSAGE_SIZE)
    if cut == prompt:
        return prompt
    limit = {"limit": f"{MAX_USER_MESSAGE_SIZE:,}"}
    turn.stream.emit(Notice("The prompt is longer than {limit} bytes; its end was not sent.", limit, turn.task_id))
    frame = byte_length(cut.content_with_context()) - MAX_USER_MESSAGE_SIZE
    return prompt.truncate_safe(MAX_USER_MESSAGE_SIZE - max(frame, 0))


def _where(bug: Exception) -> str:
    import traceback

    return "".join(traceback.format_exception(bug))


async def run_rounds(turn: Turn) -> None:
    for _ in range(turn.max_rounds):
        reply = await _ask(turn)
        turn.history.append(reply.message)
        uses = reply.message.tool_uses
        if not uses:
            return
        results: list[ToolUseResult] = []
        said = ""
        try:
            for use in uses:
                await run_tool(turn, use, uses, reply.invalid_calls.get(use.id), results)
            if said := strip_hidden_characters(turn.steering()):
                turn.stream.emit(Steering(said))
        finally:
            # Also when interrupted: what has run stays known to the model; the rest is answered as cancelled.
            if results:
                kept = truncate_safe_tool_use_results(results, turn.room_for_results)
                turn.history.append(UserMessage.new_steered_results(kept, said))
    raise TurnLimit("The turn reached its limit of model calls; what was said and done so far is kept.")


async def _ask(turn: Turn) -> ModelReply:
    request = ModelRequest(
        turn.model_name,
        turn.system,
        turn.fit(turn.history),
        turn.tools.specs,
        temperature=turn.temperature,
        seed=turn.seed,
    )
    started = time.monotonic()
    async with aclosing(turn.model.stream(request)) as items:  # type: ignore[type-var]
        async for item in items:
            if isinstance(item, Retrying):
                turn.stream.emit(Retry(item.reason, item.attempt, item.delay_s, turn.task_id, item.attempts, item.kind))
            elif isinstance(item, ModelNotice):
                turn.stream.emit(Notice(item.text.sentence, item.text.values, task_id=turn.task_id))
            elif isinstance(item, ModelReply):
                stop = item.stop if item.stop not in ("end", "tool_calls") else None
                seconds = round(time.monotonic() - started, 3)
                turn.stream.emit(Message(item.message, item.usage, item.rung, turn.task_id, seconds, stop))
                if item.stop in _CUT_SHORT and item.message.content:  # without a word: reported when the turn ends
                    turn.stream.emit(replace(_CUT_SHORT[item.stop], task_id=turn.task_id))
                return item
    raise BadReplyError("The model's stream ended without a reply. Ask again, or choose another model.")


async def run_tool(
    turn: Turn,
    use: AssistantToolUse,
    peers: Sequence[AssistantToolUse],
    invalid: str | None,
    results: list[ToolUseResult],
) -> None:
    original = use.orig_name if use.orig_name != use.name else None
    turn.stream.emit(Step(use.id, use.name, use.args, original, turn.task_id))
    started = time.monotonic()
    room = turn.room_for_results // len(peers)
    late: CancelledLate | None = None
    try:
        outcome = turn.repeats.answer(use)
        if outcome is None:
            outcome = await turn.tools.run(Call(use, turn.stream.emit, peers, room, invalid))
            turn.repeats.learn(use, outcome)
    except CancelledLate as cancelled:  # what was done is reported all the same
        outcome, late = cancelled.outcome, cancelled
    result = ToolUseResult(use.id, outcome.content, outcome.status)
    results.append(result)
    for each in outcome.changes:
        turn.stream.emit(Diff(each.path, each.diff, each.added, each.removed, each.before, each.after, turn.task_id))
    seconds = round(time.monotonic() - started if outcome.seconds is None else outcome.seconds, 3)
    how = (outcome.decision, seconds, turn.task_id, outcome.refused, outcome.check, outcome.secret, outcome.evidence)
    turn.stream.emit(ToolResult(use.name, result, *how))
    if late is not None:
        raise late
