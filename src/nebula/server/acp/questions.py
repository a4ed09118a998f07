"""A question about a change, put as a whole, hunk by hunk, or file by file."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from nebula.events import Approval, ProposedChange
from nebula.language import translate
from nebula.server.acp.permission import agreement, in_fence, options, show_change, show_question, text_content
from nebula.stage import fit_to_decide, one_line
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
        """Ask, and return what was decided; a closed question is a no."""
        chosen = await choose(self.shown, options(self._asked))
        if chosen == "hunks":
            return await self._hunk_by_hunk(choose)
        if chosen == "files":
            return await self._file_by_file(choose)
        return Decision.read(chosen or "no")

    async def _hunk_by_hunk(self, choose: Choose) -> Decision:
        (change,) = self._asked.changes
        shown = self._show_hunks(change)
        taken = []
        for number, content in enumerate(shown, 1):
            title = translate("Take hunk {number} of {count}?", number=number, count=len(shown))
            asked = {**self.shown, "title": f"{title} {one_line(change.path)}", "content": [content]}
            answer = await choose(asked, agreement())
            if not answer:
                return Decision(False)
            if answer == "yes":
                taken.append(number)
        if not taken:
            return Decision(False)
        return Decision(True, hunks=() if len(taken) == len(shown) else tuple(taken))

    def _show_hunks(self, change: ProposedChange) -> list[dict[str, Any]]:
        """Return each hunk as a difference of the file with this hunk alone; as text where a character would hide."""
        fit = _split_hunks(self._fit.diff)
        if self._fit.diff != self._asked.diff or change.new is None:
            return [text_content(in_fence(each, "diff")) for each in fit]
        path, hunks = os.path.join(self._root, change.path), diff_texts(change.path, change.old, change.new).hunks
        if len(hunks) != len(fit):
            return [text_content(in_fence(each, "diff")) for each in fit]
        return [
            {"type": "diff", "path": path, "oldText": change.old, "newText": apply_hunks(change.old, [hunk])}
            for hunk in hunks
        ]

    async def _file_by_file(self, choose: Choose) -> Decision:
        taken, count = [], len(self._asked.changes)
        for number, (change, fit) in enumerate(zip(self._asked.changes, self._fit.changes, strict=True), 1):
            title = translate("Take file {number} of {count}?", number=number, count=count)
            where = [{"path": os.path.join(self._root, change.path)}]
            content = show_change(change, fit, self._root)
            asked = {**self.shown, "title": f"{title} {fit.path}", "content": content, "locations": where}
            answer = await choose(asked, agreement())
            if not answer:
                return Decision(False)
            if answer == "yes":
                taken.append(change.path)
        if not taken:
            return Decision(False)
        return Decision(True, paths=() if len(taken) == count else tuple(taken))


def _split_hunks(diff: str) -> list[str]:
    _, *hunks = re.split("^(?=@@ )", diff, flags=re.MULTILINE)
    return hunks
