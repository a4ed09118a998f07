"""The contract between the agent and any model: messages and tool schemas in, text deltas and one reply out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from nebula.events import Usage as Usage
from nebula.messages import AssistantMessage, Message, ToolSpec
from nebula.value import value

NO_USAGE = Usage()


@value
class ModelRequest:
    model: str
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    temperature: float | None = None
    seed: int | None = None
    max_output_tokens: int | None = None
    json_schema: Mapping[str, Any] | None = None
    """The answer has to be JSON of this schema; a connector hands it on in its API's own way."""


@value
class TextDelta:
    """A piece of the answer as it arrives. Not final: a `Retrying` makes all pieces so far void."""

    text: str


@value
class Retrying:
    """The attempt failed and is made again after `delay_s`; deltas given so far are void.

    `attempt` is the number of the attempt to come, so the first retry says 2.
    """

    reason: str
    attempt: int
    delay_s: float


@value
class ModelNotice:
    """Something the user should know; nothing failed. Readers may ignore it."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The finished message. Always the last item of a stream, and there is exactly one."""

    message: AssistantMessage
    usage: Usage = NO_USAGE
    rung: str | None = None
    """Which rung of the dialect's ladder read it (None for a native reply)."""
    stop: str = "end"
    """`end`, `tool_calls`, `length` (cut at the output limit), `filter` (held back by the provider)."""
    invalid_calls: Mapping[str, str] = field(default_factory=dict)
    """Tool use id → why it must not run. The message keeps such a call with `{}` as arguments, so that ids stay
    paired; the loop answers it with an Error result holding the reason, and the model tries again."""


StreamItem = TextDelta | Retrying | ModelNotice | ModelReply


@value
class ModelInfo:
    name: str
    provider: str
    context_length: int | None = None
    tools: bool | None = None
    """Native tool calls; None where the provider does not say."""
    tool_role: bool | None = None
    """Whether the chat template passes on messages of role `tool`; None where unknown."""
    thinking: bool | None = None


class Model(Protocol):
    """A connector (or a wrapper around one)."""

    @property
    def provider(self) -> str: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Ask once. Raises `ModelError`. Cancelling the task, or closing the iterator, closes the connection."""
        ...

    async def list_models(self) -> list[ModelInfo]: ...

    async def aclose(self) -> None: ...


class DescribingModel(Model, Protocol):
    """A model whose server can be asked what a model is able to do."""

    async def describe(self, model: str) -> ModelInfo: ...
