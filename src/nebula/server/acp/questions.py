"""Ask about a change as a whole, hunk by hunk, or file by file."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from nebula.events import Approval, ProposedChange
from nebula.language import translate
from nebula.server.acp.permission import agreement, in_fence, options, show_change, show_question
from nebula.server.acp.tool_calls import difference, text_content
from nebula.stage import fit_to_decide, one_line
from nebula.stage.questions import split_hunks
from nebula.tools.approval import Decision
from nebula.workspace.diff import apply_hunks, diff_texts

Choose = Callable[[Mapping[str, Any], Sequence[Mapping[str, str]]], Awaitable[str]]
"""Asks the editor about a tool call and returns the id of the chosen option."""


class Question:
    def __init__(self, asked: Approval, root: str, lang: str) -> None:
        self._asked = asked
        self._fit = fit_to_decide(asked, lang)
        self._root = root
        self.shown = show_question(asked, root, lang)

    async def decide(self, choose: Choose) -> Decision:
        """Ask, and return the decision; a closed question is a no."""
        chosen = await choose(self.shown, options(self._asked))
        if chosen not in ("hunks", "files"):
            return Decision.read(chosen or "no")
        parts = self._list_hunks() if chosen == "hunks" else self._list_files()
        taken = await self._choose(parts, choose)
        if not taken:
            return Decision(False)
        if len(taken) == len(parts):
            return Decision(True)
        if chosen == "hunks":
            return Decision(True, hunks=tuple(taken))
        return Decision(True, paths=tuple(self._asked.changes[number - 1].path for number in taken))

    async def _choose(self, parts: Sequence[Mapping[str, Any]], choose: Choose) -> list[int]:
        """Ask about each part, and return the numbers of those taken; none of them once a question is closed."""
        taken = []
        for number, part in enumerate(parts, 1):
            answer = await choose({**self.shown, **part}, agreement())
            if not answer:
                return []
            if answer == "yes":
                taken.append(number)
        return taken

    def _list_hunks(self) -> list[dict[str, Any]]:
        (change,) = self._asked.changes
        shown, path = self._show_hunks(change), one_line(change.path)
        parts = []
        for number, each in enumerate(shown, 1):
            title = translate("Take hunk {number} of {count}?", number=number, count=len(shown))
            parts.append({"title": f"{title} {path}", "content": [each]})
        return parts

    def _show_hunks(self, change: ProposedChange) -> list[dict[str, Any]]:
        """Return each hunk as a difference of the file with this hunk alone; as text if the difference would hide a
        character."""
        fit = split_hunks(self._fit.diff)
        if self._fit.diff != self._asked.diff or change.new is None:
            return [text_content(in_fence(each, "diff")) for each in fit]
        hunks = diff_texts(change.path, change.old, change.new).hunks
        if len(hunks) != len(fit):
            return [text_content(in_fence(each, "diff")) for each in fit]
        return [difference(self._root, change.path, change.old, apply_hunks(change.old, [hunk])) for hunk in hunks]

    def _list_files(self) -> list[dict[str, Any]]:
        parts, count = [], len(self._asked.changes)
        for number, (change, fit) in enumerate(zip(self._asked.changes, self._fit.changes, strict=True), 1):
            title = translate("Take file {number} of {count}?", number=number, count=count)
            where = [{"path": os.path.join(self._root, change.path)}]
            content = show_change(change, fit, self._root)
            parts.append({"title": f"{title} {fit.path}", "content": content, "locations": where})
        return parts
