"""Whatever a tool raises is the result of that call; what cannot be told of it ends the turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from nebula.events import Error, Notice, RecordingFailed
from nebula.language import Sentence
from nebula.messages import AssistantToolUse, Json, ToolResultStatus, ToolSpec
from nebula.tools.contract import Call, Outcome
from nebula.tools.toolset import MAX_PROBLEM, ToolSet

USE = AssistantToolUse("1", "t", "t", {}, {})


class Failing:
    spec = ToolSpec("t", "Fails.", {})

    def __init__(self, problem: Callable[[Call], None]) -> None:
        self._fail = problem

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        self._fail(call)
        raise AssertionError


@pytest.mark.parametrize("problem", [RuntimeError("odd"), KeyError("x"), OSError(28, "full"), RecursionError()])
def test_any_exception_is_an_error_result_with_the_detail_in_the_trace(problem: Exception) -> None:
    def fail(_: Call) -> None:
        raise problem

    events: list[Any] = []
    outcome = asyncio.run(ToolSet.of([Failing(fail)]).run(Call(USE, events.append)))
    said = f"{type(problem).__name__}: {problem}"
    assert outcome.content == (Json({"error": f"The tool failed: {said}"}),)
    assert (outcome.status, outcome.code, outcome.refused) == (ToolResultStatus.Error, 500, False)
    (event,) = events
    assert isinstance(event, Error) and str(event.sentence) == f"The tool t failed: {said}"
    assert event.kind == "tool" and event.detail is not None and "in fail" in event.detail


def test_a_long_problem_is_cut() -> None:
    def fail(_: Call) -> None:
        raise RuntimeError("x" * 10_000)

    outcome = asyncio.run(ToolSet.of([Failing(fail)]).run(Call(USE)))
    assert len(outcome.content[0].as_text()) < MAX_PROBLEM + 100


@pytest.mark.parametrize("problem", [RecordingFailed("full"), RuntimeError("nobody reads")])
def test_what_cannot_be_recorded_or_shown_ends_the_turn(problem: Exception) -> None:
    def emit(_: Any) -> None:
        raise problem

    with pytest.raises(type(problem)) as raised:
        asyncio.run(ToolSet.of([Failing(lambda call: call.emit(Notice(Sentence("at work"))))]).run(Call(USE, emit)))
    assert raised.value is problem


def test_being_given_up_is_no_failure() -> None:
    def fail(_: Call) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(ToolSet.of([Failing(fail)]).run(Call(USE)))
