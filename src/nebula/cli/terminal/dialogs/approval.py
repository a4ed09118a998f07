"""The question before a write, in place: what, how much, and the ways to answer."""

from __future__ import annotations

import asyncio
import unicodedata
from glob import escape
from typing import TYPE_CHECKING

from nebula.cli.terminal.input.contract import EndOfInput, Interrupted
from nebula.cli.terminal.output.diff_view import show_diff
from nebula.stage import neutralise, one_line
from nebula.tools.approval import Decision, Question
from nebula.tools.writing import Proposal

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession

YES = frozenset({"y", "yes", "はい"})
NO = frozenset({"", "n", "no", "いいえ"})


class TerminalApprover:
    """Asks the person at the terminal. A sentence instead of a key refuses, and the model is told the sentence."""

    def __init__(self, terminal: TerminalSession) -> None:
        self._terminal = terminal
        self._listed: tuple[str, ...] = ()
        """The writes shown together last, so that one message lists them once."""

    async def __call__(self, question: Question) -> Decision:
        self._introduce(question)
        while True:
            try:
                answer = await self._terminal.input.ask(self._terminal.words("approve_ask"), fresh=True)
            except EndOfInput:
                return Decision(False)
            except Interrupted:
                return await self._interrupted()
            decision = self._decision(answer, question)
            if decision is not None:
                self._terminal.screen.line()
                return decision
            show_diff(self._terminal.screen, self._terminal.words, self._diff(question))

    def _introduce(self, question: Question) -> None:
        screen, words = self._terminal.screen, self._terminal.words
        paths = tuple(each.path for each in question.together)
        if len(paths) > 1 and paths != self._listed:
            screen.line(words("approve_together", count=len(paths)))
            for proposal in question.together:
                screen.line(f"  {_counted(proposal)}")
        self._listed = paths
        kind = "approve_create" if question.proposal.mode == "create" else "approve_edit"
        screen.line(words(kind, path=_counted(question.proposal)), "bold")
        if question.asked_again:
            screen.line(words("approve_changed"), "yellow")
        screen.line(self._keys(question), "dim")

    def _keys(self, question: Question) -> str:
        words = self._terminal.words
        keys = [words("key_yes_no")]
        if len(question.together) > 1:
            keys.append(words("key_message", count=len(question.together)))
        keys += [words("key_session"), words("key_pattern", pattern=one_line(pattern_for(question.proposal.path)))]
        return " · ".join([*keys, words("key_reason")])

    def _decision(self, answer: str, question: Question) -> Decision | None:
        """None: look at the difference first."""
        screen, words = self._terminal.screen, self._terminal.words
        # An input method left on types full-width letters.
        key = unicodedata.normalize("NFKC", answer).strip().lower()
        if key in YES:
            return Decision(True)
        if key in NO:
            screen.line(words("refused"), "dim")
            return Decision(False)
        if key in ("d", "diff"):
            return None
        if key in ("a", "all"):
            screen.line(words("approved_session"), "dim")
            return Decision(True, "session")
        if key == "p":
            pattern = pattern_for(question.proposal.path)
            screen.line(words("approved_pattern", pattern=one_line(pattern)), "dim")
            return Decision(True, "pattern", pattern=pattern)
        if key == "m" and len(question.together) > 1:
            screen.line(words("approved_message", count=len(question.together)), "dim")
            return Decision(True, "message")
        screen.line(words("refused_reason"), "dim")
        return Decision(False, reason=answer.strip())

    def _diff(self, question: Question) -> str:
        asked = self._terminal.view.asked if self._terminal.view else None
        if asked is not None and asked.approval_id == question.approval_id:
            return asked.diff
        return neutralise(question.proposal.diff)

    async def _interrupted(self) -> Decision:
        self._terminal.interrupt()
        # The turn is being cancelled, and this question with it.
        never: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        return await never


def _counted(proposal: Proposal) -> str:
    return f"{one_line(proposal.path)} (+{proposal.added} −{proposal.removed})"


def pattern_for(path: str) -> str:
    """Files of the same kind; a file without an ending stands for itself."""
    name = path.rsplit("/", 1)[-1]
    stem, dot, ending = name.rpartition(".")
    return f"*.{escape(ending)}" if stem and dot and ending else escape(path)
