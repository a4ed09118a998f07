"""The `conversations.json` of a ChatGPT export: trees of messages, with the answers that were made again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nebula.exchange.imports.contract import BAD_FILE, BAD_LINE, RecordedConversation, RecordedMessage, Role, SkipCounts
from nebula.exchange.imports.reading import child, items, json_document, tell_result, text_of, time_of

NAME = "chatgpt"
AGENT = "chatgpt"
_THOUGHTS = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")


def find(_root: str) -> list[str]:
    return []  # an export lies where the user put it


def read(place: str, skipped: SkipCounts) -> Iterator[RecordedConversation]:
    found = json_document(place, skipped)
    if found is None:
        return
    for number, held in enumerate(found if isinstance(found, list) else [found]):
        mapping = child(held, "mapping")
        if not isinstance(mapping, dict):
            skipped[BAD_FILE if not isinstance(found, list) else BAD_LINE] += 1
            continue
        key = text_of(held.get("conversation_id")) or text_of(held.get("id")) or str(number)
        messages = [_message(key, name, node) for name, node in mapping.items() if isinstance(node, dict)]
        yield RecordedConversation(key, messages, regenerates=True)


def _message(conversation: str, name: str, node: dict[str, Any]) -> RecordedMessage:
    parent = node.get("parent")
    before = f"{conversation}/{parent}" if isinstance(parent, str) else None
    key, message = f"{conversation}/{name}", node.get("message")
    role, kind = text_of(child(message, "author", "role")), text_of(child(message, "content", "content_type"))
    text, time = _said(child(message, "content")), time_of(child(message, "create_time"))
    model = text_of(child(message, "metadata", "model_slug"))
    hidden = child(message, "metadata", "is_visually_hidden_from_conversation")
    if hidden or kind in _THOUGHTS or role not in ("user", "assistant", "tool"):
        return RecordedMessage(key, "context", "", before, time)
    recipient = child(message, "recipient")
    to_tool = role == "assistant" and isinstance(recipient, str) and recipient not in ("", "all")
    said: Role = "tool" if to_tool or role == "tool" else "user" if role == "user" else "assistant"
    return RecordedMessage(key, said, tell_result(text) if said == "tool" else text, before, time, model)


def _said(content: Any) -> str:
    parts = [text_of(part) or text_of(child(part, "text")) for part in items(child(content, "parts"))]
    return "\n\n".join(filter(None, parts)) or text_of(child(content, "text"))
