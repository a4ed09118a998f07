"""Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`, one file for each session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from nebula.exchange.imports.contract import FileEdit, RecordedConversation, RecordedMessage, SkipCounts
from nebula.exchange.imports.patches import edits_of_apply_patch, lines_of_diff
from nebula.exchange.imports.reading import (
    child,
    count_of,
    files_below,
    items,
    json_lines,
    tell_call,
    tell_result,
    text_of,
    time_of,
)
from nebula.files.untrusted_json import parse_json

NAME = "codex"
AGENT = "codex"
_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<INSTRUCTIONS>",
)
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")


def find(_root: str) -> list[str]:
    home = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    return [
        file for name in ("sessions", "archived_sessions") for file in files_below(os.path.join(home, name), ".jsonl")
    ]


def read(place: str, skipped: SkipCounts) -> Iterator[RecordedConversation]:
    session, folder, model = "", "", ""
    prompts: set[str] = set()
    """What the record itself calls a message of the user; older records do not."""
    entries: list[tuple[str, dict[str, Any], str]] = []
    for entry in json_lines(place, skipped):
        kind, payload = entry.get("type"), entry.get("payload")
        if not isinstance(payload, dict):  # the oldest form had the items bare
            kind, payload = ("response_item", entry) if "role" in entry or entry.get("type") in _CALLS else ("", {})
        if kind == "session_meta":
            session, folder = session or text_of(payload.get("id")), folder or text_of(payload.get("cwd"))
        elif kind == "turn_context":
            model, folder = text_of(payload.get("model")) or model, folder or text_of(payload.get("cwd"))
        elif kind == "event_msg":
            prompts |= set(_prompts(payload))
            entries.append((time_of(entry.get("timestamp")), payload, model))
        elif kind == "response_item":
            entries.append((time_of(entry.get("timestamp")), payload, model))
    session = session or os.path.basename(place)
    yield RecordedConversation(session, list(_messages(session, entries, prompts)), folder)


def _prompts(payload: dict[str, Any]) -> Iterator[str]:
    if payload.get("type") == "user_message":
        yield text_of(payload.get("message")).strip()
    item = payload.get("item")
    if child(item, "type") == "UserMessage":
        yield "\n\n".join(text_of(child(each, "text")) for each in items(child(item, "content"))).strip()


def _messages(
    session: str, entries: list[tuple[str, dict[str, Any], str]], prompts: set[str]
) -> Iterator[RecordedMessage]:
    before: str | None = None
    for number, (time, payload, model) in enumerate(entries):
        message = _message(f"{session}/{number}", before, time, payload, model, prompts)
        if message is not None:
            yield message
            before = message.key


def _message(
    key: str, before: str | None, time: str, payload: dict[str, Any], model: str, prompts: set[str]
) -> RecordedMessage | None:
    kind, role = payload.get("type", "message"), payload.get("role")
    if kind == "message" and role in ("user", "assistant"):
        text = "\n\n".join(text_of(child(each, "text")) for each in items(payload.get("content"))).strip()
        if role == "assistant":
            return RecordedMessage(key, "assistant", text, before, time, model)
        is_prompt = text in prompts if prompts else not text.startswith(_INJECTED)
        return RecordedMessage(key, "user", text, before, time) if is_prompt else None
    if kind in _CALLS:
        arguments = payload.get("arguments", payload.get("input", payload.get("action")))
        told = tell_call(payload.get("name", "shell"), arguments)
        return RecordedMessage(key, "tool", told, before, time, edits=tuple(_patched(payload.get("name"), arguments)))
    if kind in _RESULTS:
        return RecordedMessage(key, "tool", tell_result(payload.get("output")), before, time)
    if kind == "token_count":
        used = child(payload, "info", "last_token_usage")
        tokens = count_of(child(used, "input_tokens")), count_of(child(used, "output_tokens"))
        return RecordedMessage(key, "context", "", before, time, model, *tokens) if any(tokens) else None
    changes = payload.get("changes") if kind == "patch_apply_end" else child(payload, "item", "changes")
    if isinstance(changes, dict) and payload.get("success", True):
        return RecordedMessage(key, "context", "", before, time, edits=tuple(_changed(changes)))
    return None


def _patched(name: Any, arguments: Any) -> list[FileEdit]:
    """Return the edits of a call of `apply_patch`, which has the patch bare or as an argument."""
    if name != "apply_patch" or not isinstance(arguments, str):
        return []
    if arguments.lstrip().startswith("{"):
        try:
            arguments = text_of(child(parse_json(arguments), "input"))
        except ValueError:
            return []
    return edits_of_apply_patch(arguments)


def _changed(changes: dict[str, Any]) -> Iterator[FileEdit]:
    for path, change in changes.items():
        kind = text_of(child(change, "type")) or next(iter(change), "") if isinstance(change, dict) else ""
        held = child(change, kind) if isinstance(child(change, kind), dict) else change
        if kind == "add":
            yield FileEdit(path, "", text_of(child(held, "content")))
        elif kind == "update":
            yield FileEdit(path, lines=lines_of_diff(text_of(child(held, "unified_diff"))))
