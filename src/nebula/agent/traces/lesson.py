"""A recorded turn as a lesson: for each request what was sent to the model, its reply, and what the tools did."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nebula.agent.traces.find import TaskTrace
from nebula.agent.traces.replay import replay
from nebula.config import Settings
from nebula.llm.contract import ModelRequest
from nebula.messages import UserMessage
from nebula.value import record


@record
class LessonStep:
    """One request to the model, its reply, and the tool results. Results are those of the event stream: without
    secrets."""

    instructions: str
    tools: tuple[str, ...]
    prompts: tuple[str, ...]
    """Messages of the user that this request has and the one before did not have."""
    earlier: int
    """Messages that are sent again."""
    text: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    results: tuple[tuple[str, str, str], ...] = ()
    """The tool, status and text of each result."""


async def play_lesson(settings: Settings, trace: TaskTrace) -> list[LessonStep]:
    """Replay the task in `settings.root`, a copy of the project, and return its steps."""
    heard: list[ModelRequest | dict[str, Any]] = []
    await replay(settings, trace, [lambda stamped: heard.append(stamped.to_json())], watch=heard.append)
    return steps_of(heard)


def steps_of(heard: Sequence[ModelRequest | dict[str, Any]]) -> list[LessonStep]:
    """Return the steps of requests and events, in their order."""
    steps: list[LessonStep] = []
    sent = 0
    for each in heard:
        if isinstance(each, ModelRequest):
            steps.append(_begin(each, sent))
            sent = len(each.messages)
        elif steps:
            _add(steps[-1], each)
    return steps


def _begin(request: ModelRequest, sent: int) -> LessonStep:
    new = request.messages[sent:] if sent < len(request.messages) else request.messages
    prompts = [each.prompt for each in new if isinstance(each, UserMessage) and each.prompt]
    tools = tuple(tool.name for tool in request.tools)
    return LessonStep(request.system, tools, tuple(prompts), len(request.messages) - len(new))


def _add(step: LessonStep, event: dict[str, Any]) -> None:
    if event.get("type") == "message":
        step.text = str(event.get("text") or "")
        step.calls = tuple((str(call["name"]), call["args"]) for call in event.get("tool_calls") or ())
    elif event.get("type") == "tool_result":
        told = (str(event.get("tool")), str(event.get("status")), _text_of(event.get("result")))
        step.results = (*step.results, told)


def _text_of(result: Any) -> str:
    """Return the text of a result in the trace."""
    blocks = result.get("content") if isinstance(result, dict) else None
    pieces = [next(iter(each.values())) for each in blocks or () if isinstance(each, dict) and each]
    return "\n".join(each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in pieces)
