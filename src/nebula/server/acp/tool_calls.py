"""Tool calls for an editor: ids that are unique, kinds, files, and which calls are shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from nebula.stage import one_line
from nebula.tools.registry import BY_NAME

LONGEST_TITLE = 120


def describe_call(name: str, args: Any, root: str) -> dict[str, Any]:
    """Return title, kind and files of a call of the tool `name`; paths in `args` are below `root`."""
    given = args if isinstance(args, Mapping) else {}
    subject = next((given[key] for key in ("command", "path", "directory", "query", "url") if key in given), "")
    title = one_line(f"{name} {subject}" if isinstance(subject, str) and subject else name)
    body: dict[str, Any] = {"title": cut_title(title), "kind": BY_NAME[name].kind if name in BY_NAME else "other"}
    path, line = given.get("path"), given.get("start_line")
    if isinstance(path, str) and path:
        where: dict[str, Any] = {"path": os.path.join(root, path)}
        body["locations"] = [where | ({"line": line} if isinstance(line, int) and line > 0 else {})]
    return body


def text_content(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}


def difference(root: str, path: str, old: str | None, new: str | None) -> dict[str, Any]:
    """Return two texts of a file as content, which editors show as the difference between them."""
    return {"type": "diff", "path": os.path.join(root, path), "oldText": old, "newText": new or ""}


def cut_title(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 1] + "…"


class ToolCalls:
    """The calls of one session. A model may use an id twice, and our own ids start anew; an editor needs unique
    ones."""

    def __init__(self, update: Callable[[Mapping[str, Any]], None]) -> None:
        self._update = update
        self._run = os.urandom(4).hex()
        self._count = count(1)
        self._ids: dict[str, str] = {}
        self._shown: set[str] = set()
        self._questions: set[str] = set()

    def new_id(self) -> str:
        return f"call-{self._run}-{next(self._count)}"

    def begin(self, use_id: str) -> str:
        """Return an id for a call that begins; `use_id` is the model's."""
        self._ids[use_id] = self.new_id()
        return self._ids[use_id]

    def find_id(self, use_id: str) -> str:
        return self._ids.get(use_id) or self.begin(use_id)

    def announce(
        self, call_id: str, shown: Mapping[str, Any], status: str, *, is_question: bool = False
    ) -> dict[str, Any]:
        """Show a call, or update what is known of it, and return it."""
        call = {"toolCallId": call_id, **shown}
        kind = "tool_call_update" if call_id in self._shown else "tool_call"
        self._shown.add(call_id)
        if is_question:
            self._questions.add(call_id)
        self._update({"sessionUpdate": kind, **call, "status": status})
        return call

    def change(self, call_id: str, shown: Mapping[str, Any], status: str) -> None:
        self._update({"sessionUpdate": "tool_call_update", "toolCallId": call_id, **shown, "status": status})

    def end(self, call_id: str, succeeded: bool, result: str = "") -> None:
        """Show how a call ended, if it is shown; a call that was asked about keeps its difference instead of the
        result."""
        if call_id not in self._shown:
            return
        self._shown.discard(call_id)
        body: dict[str, Any] = {"status": "completed" if succeeded else "failed"}
        if result and call_id not in self._questions:
            body["content"] = [text_content(result)]
        self._questions.discard(call_id)
        self._update({"sessionUpdate": "tool_call_update", "toolCallId": call_id, **body})

    def end_all(self) -> None:
        """Show that all calls have ended."""
        for call_id in sorted(self._shown):
            self.end(call_id, False)
        self._ids.clear()
