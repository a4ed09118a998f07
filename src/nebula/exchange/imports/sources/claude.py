"""Claude Code (`~/.claude/projects/*/*.jsonl`), and the `conversations.json` that Claude.ai exports."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

from nebula.exchange.imports.contract import (
    BAD_FILE,
    FileEdit,
    LineChange,
    RecordedConversation,
    RecordedMessage,
    Role,
    SkipCounts,
)
from nebula.exchange.imports.patches import lines_of_hunk
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

NAME = "claude"
AGENT = "claude-code"

_INJECTED = re.compile(r"<system-reminder>(?:(?!<system-reminder>).)*?</system-reminder>", re.DOTALL)
_NOT_A_PROMPT = ("<command-name>", "<command-message>", "<local-command-", "<bash-", "Caveat: ", "[Request interrupted")
_DELEGATES = ("Task", "Agent")


def find(root: str) -> list[str]:
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    places = dict.fromkeys((root, os.path.realpath(root)))
    folders = (os.path.join(home, "projects", re.sub(r"[^A-Za-z0-9]", "-", each)) for each in places)
    return [file for folder in folders for file in files_below(folder, ".jsonl")]


def read(place: str, skipped: SkipCounts) -> Iterator[RecordedConversation]:
    if place.endswith(".json"):
        yield from _read_export(place, skipped)
        return
    messages: list[RecordedMessage] = []
    asked: dict[str, str] = {}
    """The messages that started a sub-agent, by what they told it."""
    folder = session = ""
    for entry in json_lines(place, skipped):
        folder = folder or text_of(entry.get("cwd"))
        session = session or text_of(entry.get("sessionId"))
        if not isinstance(entry.get("uuid"), str):
            continue
        blocks = _blocks(entry)
        for block in blocks:
            if block.get("type") == "tool_use" and block.get("name") in _DELEGATES:
                asked[text_of(child(block, "input", "prompt")).strip()] = entry["uuid"]
        messages += _messages(entry, blocks, asked)
    yield RecordedConversation(session or os.path.basename(place), messages, folder)


def _blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    content = child(entry, "message", "content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [each for each in items(content) if isinstance(each, dict)]


def _messages(entry: dict[str, Any], blocks: list[dict[str, Any]], asked: dict[str, str]) -> Iterator[RecordedMessage]:
    key, time = entry["uuid"], time_of(entry.get("timestamp"))
    parent = entry.get("parentUuid") or entry.get("logicalParentUuid")
    parent = parent if isinstance(parent, str) else None
    text = _said(blocks)
    if entry.get("type") == "assistant":
        model = text_of(child(entry, "message", "model"))
        usage = child(entry, "message", "usage")
        tokens = sum(count_of(child(usage, f"{kind}input_tokens")) for kind in ("", "cache_read_", "cache_creation_"))
        output = count_of(child(usage, "output_tokens"))
        yield RecordedMessage(
            key, "assistant", text, parent, time, "" if model == "<synthetic>" else model, tokens, output
        )
        for number, block in enumerate(blocks):
            if block.get("type") == "tool_use":
                yield RecordedMessage(
                    f"{key}/{number}", "tool", tell_call(block.get("name"), block.get("input")), key, time
                )
        return
    results = [block for block in blocks if block.get("type") == "tool_result"]
    if entry.get("type") != "user" or results or _is_injected(entry, text):
        told = "\n".join(tell_result(_result(block)) for block in results)
        role: Role = "tool" if told else "context"
        yield RecordedMessage(key, role, told, parent, time, edits=tuple(_edits(entry.get("toolUseResult"))))
        return
    branch = ""
    if entry.get("isSidechain") and parent is None:
        parent, branch = asked.get(text.strip()), text_of(entry.get("agentId")) or "sub-agent"
    yield RecordedMessage(key, "user", text, parent, time, branch=branch)


def _said(blocks: list[dict[str, Any]]) -> str:
    texts = (text_of(block.get("text")) for block in blocks if block.get("type") == "text")
    return _INJECTED.sub("", "\n\n".join(texts)).strip()


def _is_injected(entry: dict[str, Any], text: str) -> bool:
    marked = entry.get("isMeta") or entry.get("isCompactSummary") or entry.get("isVisibleInTranscriptOnly")
    return bool(marked) or text.startswith(_NOT_A_PROMPT)


def _result(block: dict[str, Any]) -> Any:
    content = block.get("content")
    if isinstance(content, list):
        return "\n".join(text_of(child(each, "text")) for each in content)
    return content if content is not None else ""


def _edits(result: Any) -> Iterator[FileEdit]:
    path = text_of(child(result, "filePath"))
    if not path or "structuredPatch" not in result:
        return
    before, content = result.get("originalFile"), result.get("content")
    after = content if isinstance(content, str) else _edited(before, result)
    if result.get("type") == "create":
        before = ""
    if isinstance(before, str) and isinstance(after, str):
        yield FileEdit(path, text_of(before), text_of(after))
        return
    changes: list[LineChange] = []
    for hunk in items(result["structuredPatch"]):
        changes += lines_of_hunk(count_of(child(hunk, "newStart")), map(text_of, items(child(hunk, "lines"))))
    yield FileEdit(path, lines=tuple(changes))


def _edited(original: Any, result: dict[str, Any]) -> str | None:
    """Return the text after an edit; None where the record does not say enough, or a person changed it first."""
    if not isinstance(original, str) or result.get("userModified"):
        return None
    before: str = original
    edits = items(result.get("edits")) or [
        {
            "old_string": result.get("oldString"),
            "new_string": result.get("newString"),
            "replace_all": result.get("replaceAll"),
        }
    ]
    for each in edits:
        old, new = child(each, "old_string"), child(each, "new_string")
        if not isinstance(old, str) or not isinstance(new, str) or (old and old not in before):
            return None
        before = before.replace(old, new, -1 if child(each, "replace_all") else 1) if old else new
    return before


def _read_export(place: str, skipped: SkipCounts) -> Iterator[RecordedConversation]:
    found = json_document(place, skipped)
    for number, held in enumerate(found if isinstance(found, list) else [found]):
        entries = child(held, "chat_messages")
        if not isinstance(entries, list):
            if found is not None:
                skipped[BAD_FILE] += 1
            continue
        key = text_of(held.get("uuid")) or str(number)
        yield RecordedConversation(key, list(_exported(key, entries)), regenerates=True)


def _exported(key: str, entries: list[Any]) -> Iterator[RecordedMessage]:
    before: str | None = None
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            continue
        own = text_of(entry.get("uuid")) or f"{key}/{number}"
        blocks = [each for each in items(entry.get("content")) if isinstance(each, dict)]
        text = _said(blocks) or text_of(entry.get("text"))
        parent = entry.get("parent_message_uuid", before)
        sender = text_of(entry.get("sender"))
        role: Role = "user" if sender == "human" else "assistant" if sender == "assistant" else "context"
        yield RecordedMessage(
            own, role, text, parent if isinstance(parent, str) else None, time_of(entry.get("created_at"))
        )
        before = own
