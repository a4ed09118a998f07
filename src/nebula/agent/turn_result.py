"""What a turn has come to so far, counted from what happened in it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nebula.events import CheckRun, FileChange, Final, Status, Usage
from nebula.messages import AssistantMessage, AssistantToolUse, ToolUseResult
from nebula.tools.contract import Outcome
from nebula.tools.writing import count_lines
from nebula.value import value

EXIT_OK, EXIT_FAILED, EXIT_POLICY, EXIT_FORMAT, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 3, 64, 130

_EXIT_CODES: Mapping[Status, int] = {
    "ok": EXIT_OK,
    "error": EXIT_FAILED,
    "refused": EXIT_POLICY,
    "limit": EXIT_FAILED,
    "interrupted": EXIT_INTERRUPTED,
}


@value
class Round:
    """One assistant message that called tools, and what they answered."""

    message: AssistantMessage
    results: tuple[ToolUseResult, ...]


@dataclass(slots=True)
class TurnResult:
    """Grows with the turn; `final` reads the sum off it."""

    prompt: str
    started: float = field(default_factory=time.monotonic)
    messages: list[AssistantMessage] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    model_seconds: float = 0.0
    _changes: dict[str, FileChange] = field(default_factory=dict)
    _checks: dict[str, CheckRun] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)

    def heard(self, message: AssistantMessage, usage: Usage, seconds: float) -> None:
        self.messages.append(message)
        self.usage = self.usage + usage
        self.model_seconds += seconds

    def ran(self, use: AssistantToolUse, outcome: Outcome) -> None:
        """Done under its right name, a write that was refused under a wrong one (an absolute path) is done."""
        if outcome.change is not None:
            change = outcome.change
            self.changed(change.path, change.before, change.after, change.diff)
            self._refused = {each for each in self._refused if not f"/{each}".endswith(f"/{change.path}")}
        if outcome.check is not None:
            self._checks[outcome.check.name] = outcome.check
        if outcome.refused and use.orig_name in ("writeFile", "editFile"):
            self._refused.add(_path_of(use.orig_args))

    def changed(self, path: str, before: str, after: str, diff: str) -> None:
        """Several writes to one file add up; the first one's `before` and the last one's `after` stand.

        A check that ran before a change says nothing about it any more.
        """
        added, removed = count_lines(diff)
        earlier = self._changes.get(path)
        if earlier is not None:
            added, removed, before = added + earlier.added, removed + earlier.removed, earlier.before
        self._changes[path] = FileChange(path, added, removed, before, after)
        self._checks.clear()

    @property
    def files(self) -> tuple[FileChange, ...]:
        return tuple(self._changes.values())

    @property
    def answer(self) -> str:
        """The turn's answer: the texts of all its assistant messages, joined by a blank line."""
        return "\n\n".join(text for message in self.messages if (text := message.content))

    @property
    def refused(self) -> bool:
        """A write was refused, and the turn ended without doing it."""
        return bool(self._refused)

    def final(self, status: Status, *, exit_code: int | None = None, remark: str = "", node_id: str | None) -> Final:
        return Final(
            text=self.answer,
            status=status,
            exit_code=_EXIT_CODES[status] if exit_code is None else exit_code,
            files_changed=self.files,
            usage=self.usage,
            duration_s=round(time.monotonic() - self.started, 3),
            node_id=node_id,
            remark=remark,
            checks=tuple(self._checks.values()),
        )


def _path_of(args: Any) -> str:
    path = args.get("path") if isinstance(args, Mapping) else None
    return path.removeprefix("./") if isinstance(path, str) else ""
