"""The loop: ask the model, run what it calls, hand the results back, until it calls nothing.

It knows contracts only. New behaviour is a new tool, a wrapper around one, a reader of the events, or another way to
build the context; not a new branch here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from nebula.agent.turn_result import EXIT_FORMAT, Round, TurnResult
from nebula.events import (
    Diff,
    Error,
    EventStream,
    Final,
    Message,
    Notice,
    RecordingFailed,
    Retry,
    Status,
    Step,
    Task,
    ToolResult,
)
from nebula.llm.contract import Model, ModelNotice, ModelReply, ModelRequest, Retrying
from nebula.llm.errors import BadReplyError, ModelError
from nebula.messages import (
    MAX_USER_MESSAGE_SIZE,
    AssistantToolUse,
    ToolUseResult,
    UserMessage,
    truncate_safe_tool_use_results,
)
from nebula.messages import Message as Said
from nebula.messages.truncation import byte_length
from nebula.tools.contract import Call, Outcome, ToolFailure
from nebula.tools.toolset import ToolSet

_CUT_SHORT = {
    "length": "The model stopped at its output limit; what it said is not complete.",
    "filter": "The provider held the answer back; ask in other words, or choose another model.",
}


def _as_it_is(history: Sequence[Said]) -> Sequence[Said]:
    return history


class NotKept(Exception):
    """The turn could not become a node. It is told, and lost nowhere: memory and log have every word of it."""


def _no_node(_: TurnResult, __: Status) -> str | None:
    return None


@dataclass(slots=True)
class Turn:
    """Everything one turn needs, handed in."""

    stream: EventStream
    model: Model
    model_name: str
    system: str
    history: list[Said]
    """Grows by the turn's own messages, and stays with the session."""
    tools: ToolSet
    max_rounds: int = 100
    room_for_results: int = MAX_USER_MESSAGE_SIZE
    """Bytes for all results of one message; they share it evenly."""
    temperature: float | None = None
    seed: int | None = None
    task_id: str | None = None
    fit: Callable[[Sequence[Said]], Sequence[Said]] = field(default=_as_it_is)
    """What of the history is sent: repaired, and cut to the model's context."""
    keep: Callable[[TurnResult, Status], str | None] = field(default=_no_node)
    """Makes the finished turn a node of the graph and tells its id."""


async def run_turn(turn: Turn, task: Task, prompt: UserMessage) -> Final:
    """One turn from `Task` to `Final`. Cancelling it ends it properly, with the status `interrupted`."""
    so_far = TurnResult(task.prompt)
    exit_code: int | None = None
    remark = ""
    status: Status
    try:
        turn.stream.emit(task)
        turn.history.append(_within_limit(turn, prompt))
        status = await run_rounds(turn, so_far)
    except asyncio.CancelledError:
        status = "interrupted"
    except ModelError as error:
        status, remark = "error", str(error)
        exit_code = EXIT_FORMAT if isinstance(error, BadReplyError) and error.exhausted else None
        turn.stream.emit(Error(error.kind, str(error), turn.task_id))
    except RecordingFailed as failure:
        status, remark = "error", str(failure)
        turn.stream.emit(Error("recording", remark, turn.task_id), must_record=False)
    except Exception as bug:  # noqa: BLE001 - a turn always ends with Final; the trace keeps where it went wrong
        status, remark = "error", f"An internal error ended the turn: {type(bug).__name__}: {bug}"
        turn.stream.emit(Error("internal", remark, turn.task_id, _where(bug)), must_record=False)
    if status == "ok" and so_far.refused:
        status = "refused"
    node_id = _kept(turn, so_far, status)
    final = so_far.final(status, exit_code=exit_code, remark=remark, node_id=node_id)
    turn.stream.emit(final, must_record=False)
    return final


def _within_limit(turn: Turn, prompt: UserMessage) -> UserMessage:
    """A prompt too long to send loses its end, and the user hears of it."""
    cut = prompt.truncate_safe(MAX_USER_MESSAGE_SIZE)
    if cut == prompt:
        return prompt
    limit = f"{MAX_USER_MESSAGE_SIZE:,} bytes"
    turn.stream.emit(Notice(f"The prompt is longer than {limit}; its end was not sent.", turn.task_id))
    frame = byte_length(cut.content_with_context()) - MAX_USER_MESSAGE_SIZE
    return prompt.truncate_safe(MAX_USER_MESSAGE_SIZE - max(frame, 0))


def _where(bug: Exception) -> str:
    import traceback

    return "".join(traceback.format_exception(bug))


def _kept(turn: Turn, so_far: TurnResult, status: Status) -> str | None:
    try:
        return turn.keep(so_far, status)
    except NotKept as problem:
        turn.stream.emit(Error("graph", str(problem), turn.task_id), must_record=False)
        return None


async def run_rounds(turn: Turn, so_far: TurnResult) -> Status:
    for _ in range(turn.max_rounds):
        reply = await _ask(turn, so_far)
        turn.history.append(reply.message)
        uses = reply.message.tool_uses
        if not uses:
            return "ok"
        results: list[ToolUseResult] = []
        try:
            for use in uses:
                results.append(await _run_tool(turn, so_far, use, uses, reply.invalid_calls.get(use.id)))
        finally:
            # Also when interrupted: what has run stays known to the model; the rest is answered as cancelled.
            so_far.rounds.append(Round(reply.message, tuple(results)))
            if results:
                kept = truncate_safe_tool_use_results(results, turn.room_for_results)
                turn.history.append(UserMessage.new_tool_use_results(kept))
    return "limit"


async def _ask(turn: Turn, so_far: TurnResult) -> ModelReply:
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
                turn.stream.emit(Retry(item.reason, item.attempt, item.delay_s, turn.task_id))
            elif isinstance(item, ModelNotice):
                turn.stream.emit(Notice(item.text, turn.task_id))
            elif isinstance(item, ModelReply):
                seconds = time.monotonic() - started
                so_far.heard(item.message, item.usage, seconds)
                turn.stream.emit(Message(item.message, item.usage, item.rung, turn.task_id, round(seconds, 3)))
                if item.stop in _CUT_SHORT:
                    turn.stream.emit(Notice(_CUT_SHORT[item.stop], turn.task_id))
                return item
    raise BadReplyError("The model's stream ended without a reply. Ask again, or choose another model.")


async def _run_tool(
    turn: Turn, so_far: TurnResult, use: AssistantToolUse, peers: Sequence[AssistantToolUse], invalid: str | None
) -> ToolUseResult:
    original = use.orig_name if use.orig_name != use.name else None
    turn.stream.emit(Step(use.id, use.name, use.args, original, turn.task_id))
    started = time.monotonic()
    if invalid is not None:
        outcome = Outcome.failed(ToolFailure(invalid))
    else:
        room = turn.room_for_results // len(peers)
        outcome = await turn.tools.run(Call(use, turn.stream.emit, peers, room))
    so_far.ran(use, outcome)
    if outcome.change is not None:
        change = outcome.change
        turn.stream.emit(
            Diff(change.path, change.diff, change.added, change.removed, change.before, change.after, turn.task_id)
        )
    result = ToolUseResult(use.id, outcome.content, outcome.status)
    seconds = round(time.monotonic() - started, 3)
    turn.stream.emit(ToolResult(use.name, result, outcome.decision, seconds, turn.task_id))
    return result
