"""Stand-ins for a replay: a model that sends the recorded replies, and a person who decides as recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Container, Mapping, Sequence
from typing import Any

from nebula.agent.plan.plan import BadPlan
from nebula.agent.traces.find import TaskTrace
from nebula.errors import EXIT_FORMAT
from nebula.events import Approval, Stamped, Step
from nebula.llm.contract import ModelInfo, ModelReply, ModelRequest, StreamItem, Usage
from nebula.llm.errors import ModelError
from nebula.messages import AssistantMessage, MessageFormatError
from nebula.tools.approval import Decision

OUR_FAILURES = frozenset({"internal", "recording", "graph", "output", "start"})
"""Kinds of errors on our side, which a replay produces by itself. All others came from the model."""


PLAN_FAILURE = BadPlan.kind
"""The replay produces it by itself where the planner's replies are replayed."""


class RecordedFailure(ModelError):
    """Raised for a recorded failure of the model, and where the recording has ended."""

    kind = "recording"


class RecordedNonsense(RecordedFailure):
    """Raised where the recorded model sent something that could not be used."""

    exit_code = EXIT_FORMAT


class RecordedModel:
    """Sends the recorded replies and failures in order, whatever the request; `watch` is called with each request."""

    def __init__(
        self,
        trace: TaskTrace,
        plays: Callable[[Mapping[str, Any]], bool],
        watch: Callable[[ModelRequest], None] | None = None,
    ) -> None:
        self._watch = watch
        self.provider = str(trace.task.get("provider") or "replay")
        self._failure = RecordedNonsense if trace.final.get("exit_code") == EXIT_FORMAT else RecordedFailure
        ours = OUR_FAILURES | ({PLAN_FAILURE} if trace.of_type("plan_reply") else frozenset())
        self._items = iter([event for event in trace.events if plays(event) or is_failure(event, ours)])

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        if self._watch is not None:
            self._watch(request)
        event = next(self._items, None)
        if event is None:
            raise RecordedFailure("The trace has no further reply: from here on the task would differ from its record.")
        if event.get("type") == "error":
            raise self._failure("{problem}", problem=str(event.get("message")))
        try:
            reply = reply_of(event)
        except MessageFormatError as problem:
            raise RecordedFailure("A reply in the trace is damaged: {problem}", problem=str(problem)) from None
        yield reply

    async def list_models(self) -> list[ModelInfo]:
        return []

    async def describe(self, model: str) -> ModelInfo:
        return ModelInfo(model, self.provider, tools=True)

    async def aclose(self) -> None:
        return None


def is_reply(event: Mapping[str, Any]) -> bool:
    return event.get("type") == "message" and isinstance(event.get("message"), dict)


def is_plan_reply(event: Mapping[str, Any]) -> bool:
    return event.get("type") == "plan_reply"


def is_failure(event: Mapping[str, Any], ours: Container[str] = OUR_FAILURES) -> bool:
    return event.get("type") == "error" and str(event.get("kind")) not in ours


def reply_of(event: Mapping[str, Any]) -> ModelReply:
    """Return the recorded reply of a model. Raises MessageFormatError. Damaged figures beside the message are left
    out."""
    if is_plan_reply(event):
        message: AssistantMessage = AssistantMessage.new_response(None, str(event.get("text") or ""))
    else:
        message = AssistantMessage.from_json(event["message"])
    usage, rung = event.get("usage"), event.get("rung")
    stop = str(event.get("stop") or ("tool_calls" if message.tool_uses else "end"))
    spent = Usage(*(_count(usage, name) for name in Usage.__match_args__))
    return ModelReply(message, spent, rung if isinstance(rung, str) else None, stop)


def _count(usage: Any, name: str) -> int:
    found = usage.get(name) if isinstance(usage, dict) else None
    return found if isinstance(found, int) else 0


class RecordedAnswers:
    """Decides each question as recorded; a question that was not asked then is answered with yes."""

    def __init__(self, events: Sequence[Mapping[str, Any]]) -> None:
        results = [event for event in events if event.get("type") == "tool_result"]
        self._decided = {
            str(event.get("tool_use_id")): str(event["decision"]) for event in results if event.get("decision")
        }
        self._at = ""

    def __call__(self, stamped: Stamped) -> None:
        """Read the stream: a question belongs to the last call that began."""
        if isinstance(stamped.event, Step):
            self._at = stamped.event.tool_use_id

    async def decide(self, question: Approval) -> Decision:
        return Decision.read(self._decided.get(self._at, "no" if question.once else "yes"))
