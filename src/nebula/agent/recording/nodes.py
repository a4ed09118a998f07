"""Make a finished turn a node of the conversation graph, and a node a turn again.

A node holds everything: prompt and answer as the audience saw them, every tool round as one `tool` text in order, the
cost, and the state of each file before and after. So a conversation can continue from any node, tools included.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nebula.agent.conversation import PastTurn
from nebula.agent.past.decisions import KEY
from nebula.agent.turn_result import Round
from nebula.attachments import Attachment, attach
from nebula.messages import (
    AssistantMessage,
    Message,
    MessageFormatError,
    ToolUseResult,
    UserMessage,
    truncate_safe_tool_use_results,
)
from nebula.value import replace

if TYPE_CHECKING:
    from nebula.graph.values import Node

MAX_ROUND_RESULT_BYTES = 32_768
"""Bytes of one round's results that a node keeps: the graph is meant for git, and the journal has the files."""


MAX_IMAGES_KEPT = 4 * 1024 * 1024
"""Bytes of images that a node keeps, for the same reason; beyond that only their names."""


def kept_with_node(attachments: Sequence[Attachment]) -> list[Attachment]:
    room, kept = MAX_IMAGES_KEPT, []
    for each in attachments:
        if each.kind == "image":
            room -= each.size
            each = each if room >= 0 else replace(each, text="")
        kept.append(each)
    return kept


def round_text(each: Round) -> str:
    results = truncate_safe_tool_use_results(each.results, MAX_ROUND_RESULT_BYTES)
    value = {"message": each.message.to_json(), "results": [result.to_json() for result in results]}
    if each.said:
        value["said"] = each.said
    if each.decisions:
        value[KEY] = [decision.to_json() for decision in each.decisions]
    return json.dumps(value, ensure_ascii=False)


def turn_of(node: Node) -> PastTurn:
    """Return the turn of a node. A tool text that we did not write (edited, or by another program) is skipped."""
    messages: list[Message] = [attach(UserMessage.new_prompt(node.prompt), node.attachments)]
    said: list[str] = []
    for text in node.texts:
        if text.role != "tool":
            continue
        parsed = _read_round(text.text)
        if parsed is not None:
            message, results, meanwhile = parsed
            messages += [message, UserMessage.new_steered_results(results, meanwhile)]
            said += [message.content] if message.content else []
    last_words = _last_words(node.response, said)
    if last_words or len(messages) == 1:
        messages.append(AssistantMessage.new_response(None, last_words))
    return PastTurn(
        tuple(messages), node.id, node.summary or "", attachments=node.attachments, beginning=node.beginning
    )


def _read_round(text: str) -> tuple[AssistantMessage, list[ToolUseResult], str] | None:
    try:
        value: Any = json.loads(text)
        message = AssistantMessage.from_json(value["message"])
        results = [ToolUseResult.from_json(item) for item in value["results"]]
    except (ValueError, KeyError, TypeError, MessageFormatError, RecursionError):
        return None
    said = value.get("said", "")
    return (message, results, said if isinstance(said, str) else "") if message.tool_uses else None


def _last_words(response: str, said: list[str]) -> str:
    """Return the text after the last tool call: the answer without what the model said before its calls, unless
    somebody edited it."""
    before = "\n\n".join(said)
    if before and response == before:
        return ""
    if before and response.startswith(before + "\n\n"):
        return response[len(before) + 2 :]
    return response
