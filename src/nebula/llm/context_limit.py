"""A server's context size, learnt from the error in which it refuses a request that is too long.

Servers of one's own often tell their size nowhere else. The request is made smaller and sent once more, and from then
on every request of this process keeps to what was learnt.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from nebula.language import Sentence
from nebula.llm.contract import Model, ModelNotice, ModelRequest, StreamItem, WrappedModel
from nebula.llm.errors import ContextExceededError
from nebula.llm.wire import to_bytes
from nebula.messages import Message, Text, ToolUseResult, UserMessage, truncate_safe_tool_use_results
from nebula.value import replace

SHARE_FOR_REQUEST = 0.85
"""Of the context; the rest is for the answer."""
BYTES_PER_TOKEN = 2.5
"""Where the server does not say how many tokens the refused request had: few enough for code and Japanese."""
LEFT_OUT = "[this result was left out to make room; call the tool again if you need it]"
SMALLEST_RESULTS = 400
"""Bytes; results that would have to be cut below this are of no use to the model."""


class LearntContext(WrappedModel):
    """`model`, whose requests are kept within what its server was heard to take."""

    learnt: dict[str, int]
    """Tokens that a model takes, by its name."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.learnt = {}
        self._bytes: dict[str, int] = {}
        """About the same for a whole request, in bytes."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        room = self._bytes.get(request.model)
        if room is not None:
            request = shrink_request(request, room) or request
        try:
            async with aclosing(self._model.stream(request)) as items:
                async for item in items:
                    yield item
            return
        except ContextExceededError as error:
            smaller = self._learn(request, error)
            if smaller is None:
                raise
            tokens = error.context_tokens
        yield ModelNotice(
            Sentence(
                "{model} takes {tokens:,} tokens here; the request was made smaller and is sent once more. "
                "`context_tokens` in the configuration says it beforehand.",
                model=request.model,
                tokens=tokens,
            )
        )
        async with aclosing(self._model.stream(smaller)) as items:
            async for item in items:
                yield item

    def _learn(self, request: ModelRequest, error: ContextExceededError) -> ModelRequest | None:
        """Remember what the server takes; return the request within that, None where that cannot be."""
        if not error.context_tokens:
            return None
        self.learnt[request.model] = error.context_tokens
        size = _fixed_bytes(request) + sum(map(_message_bytes, request.messages))
        per_token = size / error.prompt_tokens if error.prompt_tokens else BYTES_PER_TOKEN
        self._bytes[request.model] = room = int(error.context_tokens * SHARE_FOR_REQUEST * per_token)
        return shrink_request(request, min(room, size - 1))


def shrink_request(request: ModelRequest, room: int) -> ModelRequest | None:
    """Return `request` within `room` bytes: itself where it fits, None where only its newest prompt could give way.

    Results of tools go first, the oldest of them first; then the oldest turns; then a part of the newest results.
    """
    messages = list(request.messages)
    left = room - _fixed_bytes(request)
    sizes = [_message_bytes(each) for each in messages]
    excess = sum(sizes) - left
    if excess <= 0:
        return request
    for place, message in enumerate(messages[:-1]):
        if excess > 0 and isinstance(message, UserMessage) and message.tool_use_results:
            messages[place] = without_results(message)
            excess -= sizes[place] - _message_bytes(messages[place])
    start = 0
    while excess > 0 and (after := _next_turn(messages, start)) is not None:
        excess -= sum(_message_bytes(each) for each in messages[start:after])
        start = after
    last = messages[-1] if messages else None
    if excess > 0 and isinstance(last, UserMessage) and last.tool_use_results:
        room_for_results = _message_bytes(last) - excess
        if room_for_results >= SMALLEST_RESULTS:
            results = truncate_safe_tool_use_results(last.tool_use_results, room_for_results // 2)
            messages[-1] = _with_results(last, results)
            excess -= _message_bytes(last) - _message_bytes(messages[-1])
    return replace(request, messages=tuple(messages[start:])) if excess <= 0 else None


def _next_turn(messages: Sequence[Message], start: int) -> int | None:
    """Return where the turn after the one at `start` begins; None where that is the newest."""
    for place in range(start + 1, len(messages)):
        message = messages[place]
        if isinstance(message, UserMessage) and not message.tool_use_results:
            return place
    return None


def without_results(message: UserMessage) -> UserMessage:
    """Return a message of tool results with a remark in the place of each."""
    results = [
        ToolUseResult(each.tool_use_id, (Text(LEFT_OUT),), each.status) for each in message.tool_use_results or ()
    ]
    return _with_results(message, results)


def _with_results(message: UserMessage, results: Sequence[ToolUseResult]) -> UserMessage:
    return replace(message, content=replace(message.content, tool_use_results=tuple(results)))


def _fixed_bytes(request: ModelRequest) -> int:
    tools = sum(len(to_bytes(spec.to_json())) for spec in request.tools)
    return len(request.system.encode("utf-8", "replace")) + tools


def _message_bytes(message: Message) -> int:
    if isinstance(message, UserMessage):
        results = sum(len(each.as_text().encode("utf-8", "replace")) for each in message.tool_use_results or ())
        return results + len(message.content_with_context().encode("utf-8", "replace"))
    calls = sum(len(to_bytes(use.args)) + len(use.name) for use in message.tool_uses or ())
    return calls + len(message.content.encode("utf-8", "replace"))
