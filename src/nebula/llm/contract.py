"""The contract between the agent and any model: messages and tool schemas in, text deltas and one reply out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, Protocol

from nebula.events import Usage as Usage
from nebula.language import Sentence
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
class Working:
    """The model is at work on something that is no text of its answer. Readers may ignore it."""

    kind: Literal["thinking", "calling", "writing"]
    """`calling`: it writes the arguments of tool calls; `writing`: a reply that can be read only when it is whole."""
    size: int = 0
    """Characters of that so far, where they can be counted."""


@value
class Retrying:
    """The attempt failed and is made again after `delay_s`; deltas given so far are void.

    `attempt` is the number of the attempt to come, so the first retry says 2 of `attempts`.
    """

    reason: Sentence
    attempt: int
    delay_s: float
    attempts: int = 0
    kind: str = ""
    """The kind of the error: `limit` is a rate limit, `unavailable` a server or a network, `bad_reply` a reply."""


@value
class ModelNotice:
    """Something the user should know; nothing failed. Readers may ignore it."""

    text: Sentence
    kind: str = ""
    """`waiting`: nothing has come from the server for a while."""


@value
class ModelReply:
    """The finished message. Always the last item of a stream, and there is exactly one."""

    message: AssistantMessage
    usage: Usage = NO_USAGE
    rung: str | None = None
    """Which rung of the dialect's ladder read it (None for a native reply)."""
    stop: str = "end"
    """`end`, `tool_calls`, `length` (cut at the output limit), `filter` (held back by the provider), `missing` (the
    server ended its stream without an answer)."""
    invalid_calls: Mapping[str, str] = MappingProxyType({})
    """Tool use id → why it must not run. The message keeps such a call with `{}` as arguments, so that ids stay
    paired; the loop answers it with an Error result holding the reason, and the model tries again."""
    reading_rate: float | None = None
    """Tokens a second at which the server says it read the request."""


def why_no_answer(stop: str | None) -> Sentence:
    """Explain an answer without text, by how its reply stopped."""
    if stop == "filter":
        return Sentence("The provider held the answer back. Ask in other words, or choose another model.")
    if stop == "length":
        return Sentence("The model reached its output limit before the first word. Ask for less at a time.")
    if stop == "missing":
        return Sentence("The server ended its reply without an answer. Ask again, or choose another model.")
    return Sentence("The model sent an empty answer. Ask again, or choose another model.")


StreamItem = TextDelta | Working | Retrying | ModelNotice | ModelReply


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
    images: bool | None = None
    """Whether it takes images; None where the provider does not say."""


class Model(Protocol):
    """A connector (or a wrapper around one)."""

    @property
    def provider(self) -> str: ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        """Ask once. Raises `ModelError`. Cancelling the task, or closing the iterator, closes the connection."""
        ...

    async def list_models(self) -> list[ModelInfo]: ...

    async def describe(self, model: str) -> ModelInfo:
        """Return what the model is able to do, as far as its server says."""
        ...

    async def aclose(self) -> None: ...


class WrappedModel:
    """A model around another one: its replies differ, all else is the other's."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def provider(self) -> str:
        return self._model.provider

    async def list_models(self) -> list[ModelInfo]:
        return await self._model.list_models()

    async def describe(self, model: str) -> ModelInfo:
        return await self._model.describe(model)

    async def aclose(self) -> None:
        await self._model.aclose()
