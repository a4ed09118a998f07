"""The other side of a recorded task: a model that says what it said then, and a person who decides as before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from nebula.agent.traces.find import TaskTrace
from nebula.events import Stamped, Step
from nebula.llm.contract import ModelInfo, ModelReply, ModelRequest, StreamItem, Usage
from nebula.llm.errors import ModelError
from nebula.messages import AssistantMessage
from nebula.tools.approval import AnyQuestion, Decision


class RecordingEnds(ModelError):
    """What the recorded task was told when its model failed; or that there is nothing more to play."""

    kind = "recording"


class RecordedModel:
    """Plays the replies of a trace in order, whatever is asked; then it fails as the recorded model did."""

    def __init__(self, trace: TaskTrace) -> None:
        self.provider = str(trace.task.get("provider") or "replay")
        self._replies: Iterator[ModelReply] = iter([reply_of(event) for event in trace.of_type("message")])
        self._failure = next((event for event in trace.of_type("error")), None)

    async def stream(self, _: ModelRequest) -> AsyncIterator[StreamItem]:
        reply = next(self._replies, None)
        if reply is None:
            if self._failure is not None:
                raise RecordingEnds("{problem}", problem=str(self._failure.get("message")))
            raise RecordingEnds("The trace has no further reply: from here on it would go otherwise than recorded.")
        yield reply

    async def list_models(self) -> list[ModelInfo]:
        return []

    async def describe(self, model: str) -> ModelInfo:
        return ModelInfo(model, self.provider, tools=True)

    async def aclose(self) -> None:
        return None


def reply_of(event: Mapping[str, Any]) -> ModelReply:
    usage = event.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    message = AssistantMessage.from_json(event["message"])
    stop = str(event.get("stop") or ("tool_calls" if message.tool_uses else "end"))
    spent = Usage(int(counts.get("input_tokens", 0)), int(counts.get("output_tokens", 0)))
    return ModelReply(message, spent, event.get("rung"), stop)


class RecordedAnswers:
    """Decides each question as it was decided then; one that was not asked then is answered with yes."""

    def __init__(self, events: Sequence[Mapping[str, Any]]) -> None:
        results = [event for event in events if event.get("type") == "tool_result"]
        self._decided = {
            str(event.get("tool_use_id")): str(event["decision"]) for event in results if event.get("decision")
        }
        self._at = ""

    def __call__(self, stamped: Stamped) -> None:
        """Reads the stream: a question belongs to the call that was begun last."""
        if isinstance(stamped.event, Step):
            self._at = stamped.event.tool_use_id

    async def decide(self, _: AnyQuestion) -> Decision:
        return Decision.read(self._decided.get(self._at, "yes"))
