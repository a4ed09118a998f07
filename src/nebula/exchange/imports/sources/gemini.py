"""Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-*.jsonl`, and `.json` of earlier versions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Any

from nebula.exchange.imports.contract import FileEdit, RecordedConversation, RecordedMessage, SkipCounts
from nebula.exchange.imports.reading import (
    child,
    count_of,
    files_below,
    items,
    json_document,
    json_lines,
    tell_call,
    tell_result,
    text_of,
    time_of,
)

NAME = "gemini"
AGENT = "gemini-cli"
_INJECTED = ("<session_context>", "This is the Gemini CLI. We are setting up")


def find(root: str) -> list[str]:
    home = os.path.expanduser("~/.gemini/tmp")
    hashes = {hashlib.sha256(each.encode()).hexdigest() for each in (root, os.path.realpath(root))}
    found: list[str] = []
    for name in sorted(os.listdir(home)) if os.path.isdir(home) else []:
        folder = os.path.join(home, name)
        if name in hashes or _root_of(folder) in (root, os.path.realpath(root)):
            found += files_below(os.path.join(folder, "chats"), ".jsonl", ".json")
    return found


def _root_of(folder: str) -> str:
    try:
        with open(os.path.join(folder, ".project_root"), encoding="utf-8", errors="replace") as file:
            return file.read(4096).strip()
    except OSError:
        return ""


def read(place: str, skipped: SkipCounts) -> Iterator[RecordedConversation]:
    found: dict[str, dict[str, Any]] = {}
    session = ""
    lines = json_lines(place, skipped) if place.endswith(".jsonl") else iter([json_document(place, skipped) or {}])
    for entry in lines:
        session = session or text_of(child(entry, "sessionId"))
        listed = [*items(child(entry, "messages")), *items(child(entry, "$set", "messages"))]
        for message in [entry, *listed]:
            key = text_of(child(message, "id"))
            if key and "type" in message:
                found[key] = {**found.get(key, {}), **_without_copies(message)}
    folder = _root_of(os.path.dirname(os.path.dirname(os.path.abspath(place))))
    session = session or os.path.basename(place)
    yield RecordedConversation(session, list(_messages(session, found)), folder)


def _without_copies(message: dict[str, Any]) -> dict[str, Any]:
    """Return the message without what a resumed session repeats in a poorer form: calls as parts of the content."""
    content = message.get("content")
    if isinstance(content, list) and any(child(each, "functionCall") for each in content):
        return {name: held for name, held in message.items() if name not in ("content", "timestamp")}
    return message


def _messages(session: str, found: dict[str, dict[str, Any]]) -> Iterator[RecordedMessage]:
    before: str | None = None
    for key, message in found.items():
        own, time = f"{session}/{key}", time_of(message.get("timestamp"))
        text = _said(message.get("content"))
        calls = items(message.get("toolCalls"))
        if message.get("type") == "user":
            if not text or text.startswith(_INJECTED):
                continue
            yield RecordedMessage(own, "user", text, before, time)
        elif message.get("type") == "gemini":
            tokens = message.get("tokens")
            counts = count_of(child(tokens, "input")), count_of(child(tokens, "output"))
            yield RecordedMessage(own, "assistant", text, before, time, text_of(message.get("model")), *counts)
        else:
            continue
        before = own
        for number, call in enumerate(calls):
            told = f"{tell_call(child(call, 'name'), child(call, 'args'))}\n{tell_result(child(call, 'result'))}"
            edits = tuple(_edits(child(call, "resultDisplay"))) if child(call, "status") == "success" else ()
            yield RecordedMessage(f"{own}/{number}", "tool", told, before, time, edits=edits)
            before = f"{own}/{number}"


def _said(content: Any) -> str:
    if isinstance(content, str):
        return text_of(content).strip()
    return "\n\n".join(filter(None, (text_of(child(each, "text")) for each in items(content)))).strip()


def _edits(shown: Any) -> Iterator[FileEdit]:
    path = text_of(child(shown, "filePath")) or text_of(child(shown, "fileName"))
    before, after = child(shown, "originalContent"), child(shown, "newContent")
    if path and isinstance(after, str):
        yield FileEdit(path, text_of(before), text_of(after))
