"""How large things are in tokens. Estimates, stated as such."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nebula.graph.tokens import estimate_tokens
from nebula.messages import AssistantMessage, Message, ToolSpec, UserMessage

_PER_MESSAGE = 8
TOKENS_PER_IMAGE = 1_000
"""About what an image of the size of a screen costs; no provider reports it beforehand."""


def message_tokens(message: Message) -> int:
    images = message.images if isinstance(message, UserMessage) else None
    texts = sum(estimate_tokens(part) for part in message_texts(message))
    return _PER_MESSAGE + texts + len(images or ()) * TOKENS_PER_IMAGE


def total_tokens(messages: Iterable[Message]) -> int:
    return sum(message_tokens(message) for message in messages)


def tool_tokens(specs: Sequence[ToolSpec]) -> int:
    return sum(estimate_tokens(f"{spec.name}{spec.description}{spec.parameters}") for spec in specs)


def message_texts(message: Message) -> Iterable[str]:
    if isinstance(message, AssistantMessage):
        yield message.content
        for use in message.tool_uses or ():
            yield f"{use.name}{use.args}"
        return
    yield message.content_with_context()
    for result in message.tool_use_results or ():
        for block in result.content:
            yield block.as_text()
