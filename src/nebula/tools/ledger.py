"""What the model has seen of each file, so that it never overwrites what it has not read.

A file counts as read when its whole present content went past the model: by one full read, by ranges that together
cover it, or because the model wrote it. The ledger can be rebuilt from a conversation, so a read in an earlier
sitting counts for as long as the file is unchanged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nebula.messages import AssistantMessage, Json, Message, ToolResultStatus, ToolUseResult, UserMessage


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(slots=True)
class _Partly:
    sha256: str
    lines: int
    seen: list[tuple[int, int]] = field(default_factory=list)

    def covers_all(self) -> bool:
        reached = 0
        for first, last in sorted(self.seen):
            if first > reached + 1:
                return False
            reached = max(reached, last)
        return reached >= self.lines


@dataclass(slots=True)
class ReadLedger:
    """Remembers by path the content that the model knows in full."""

    _known: dict[str, str] = field(default_factory=dict)
    _partly: dict[str, _Partly] = field(default_factory=dict)

    def saw(self, path: str, sha256: str) -> None:
        self._known[_normal(path)] = sha256

    def saw_part(self, path: str, sha256: str, lines: int, shown: Iterable[Sequence[int]]) -> None:
        """Ranges of whole lines, first and last included, of a content that has so many lines."""
        name = _normal(path)
        partly = self._partly.get(name)
        if partly is None or partly.sha256 != sha256:
            partly = self._partly[name] = _Partly(sha256, lines)
        partly.seen += [(first, last) for first, last in shown]
        if partly.covers_all():
            self._known[name] = sha256

    def knows(self, path: str, sha256: str) -> bool:
        return self._known.get(_normal(path)) == sha256

    def knew(self, path: str) -> bool:
        """The model has read some content of this file in full, be it the present one or not."""
        return _normal(path) in self._known

    def knows_part(self, path: str, sha256: str) -> bool:
        partly = self._partly.get(_normal(path))
        return partly is not None and partly.sha256 == sha256

    def replay(self, messages: Iterable[Message]) -> None:
        """Learns from a conversation what a model that has it in front of it has read."""
        uses: dict[str, tuple[str, Any]] = {}
        for message in messages:
            if isinstance(message, AssistantMessage):
                uses.update({use.id: (use.orig_name, use.orig_args) for use in message.tool_uses or ()})
            elif isinstance(message, UserMessage):
                for result in message.tool_use_results or ():
                    name, args = uses.get(result.tool_use_id, ("", None))
                    self._replay_result(name, args, result)

    def _replay_result(self, name: str, args: Any, result: ToolUseResult) -> None:
        if result.status is not ToolResultStatus.Success or not isinstance(args, dict):
            return
        path = args.get("path")
        if not isinstance(path, str):
            return
        if name == "writeFile" and isinstance(args.get("content"), str):
            self.saw(path, digest(args["content"]))
        elif name == "editFile" and isinstance(args.get("new_content"), str):
            self.saw(path, digest(args["new_content"]))
        elif name == "readFile":
            for block in result.content:
                if isinstance(block, Json) and isinstance(block.value, dict):
                    self._replay_read(path, block.value)

    def _replay_read(self, path: str, value: dict[str, Any]) -> None:
        content = value.get("content")
        if not isinstance(content, str):
            return
        if value.keys() == {"content"}:
            self.saw(path, digest(content))
        elif "sha256" in value:
            whole = [] if "cut" in value else [[value["start_line"], value["end_line"]]]
            self.saw_part(path, value["sha256"], value["total_lines"], value.get("shown", whole))


def _normal(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return "/".join(parts)
