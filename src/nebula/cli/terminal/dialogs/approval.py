"""The question before a write, in place: what, how much, and the ways to answer."""

from __future__ import annotations

import asyncio
import unicodedata
from glob import escape
from itertools import islice
from typing import TYPE_CHECKING

from nebula.cli.terminal.input.contract import EndOfInput, Interrupted
from nebula.cli.terminal.output.diff_view import show_diff
from nebula.language import translate
from nebula.stage import neutralise, one_line
from nebula.tools.approval import Decision, Question, agrees
from nebula.tools.writing import Proposal

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession


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
                answer = await self._terminal.input.ask(translate("Go ahead? (y/N): "), fresh=True)
                decision = await self._decide(answer, question)
            except EndOfInput:
                return Decision(False)
            except Interrupted:
                return await self._interrupted()
            if decision is not None:
                self._terminal.screen.line()
                return decision
            show_diff(self._terminal.screen, self._diff(question))

    def _introduce(self, question: Question) -> None:
        screen = self._terminal.screen
        paths = tuple(each.path for each in question.together)
        if len(paths) > 1 and paths != self._listed:
            screen.line(translate("This message writes {count} files:", count=len(paths)))
            for proposal in question.together:
                screen.line(f"  {_counted(proposal)}")
        self._listed = paths
        file = _counted(question.proposal)
        if question.proposal.mode == "create":
            screen.line(translate("Create a new file: {path}", path=file), "bold")
        else:
            screen.line(translate("Edit an existing file: {path}", path=file), "bold")
        if question.asked_again:
            screen.line(translate("The file changed in the meantime; this is the new difference."), "yellow")
        screen.line(self._keys(question), "dim")

    def _keys(self, question: Question) -> str:
        keys = [translate("y yes · n no · d show the diff")]
        if len(question.proposal.change.hunks) > 1:
            keys.append(translate("h choose hunk by hunk"))
        if len(question.together) > 1:
            keys.append(translate("m yes to all {count} of this message", count=len(question.together)))
        pattern = one_line(pattern_for(question.proposal.path))
        keys.append(translate("a yes to all in this session"))
        keys.append(translate("p always for {pattern} in this session", pattern=pattern))
        return " · ".join([*keys, translate("or say why not")])

    async def _decide(self, answer: str, question: Question) -> Decision | None:
        """None: look at the difference first."""
        # An input method left on types full-width letters.
        key = unicodedata.normalize("NFKC", answer).strip().lower()
        if key in ("d", "diff"):
            return None
        if key == "h" and len(question.proposal.change.hunks) > 1:
            return self._told(await self._hunk_by_hunk(question))
        return self._decision(key, answer, question)

    def _decision(self, key: str, answer: str, question: Question) -> Decision:
        screen = self._terminal.screen
        if key == "p":
            pattern = pattern_for(question.proposal.path)
            shown = one_line(pattern)
            screen.line(
                translate(
                    "From now on writes to {pattern} are allowed without asking, in this session.", pattern=shown
                ),
                "dim",
            )
            return Decision(True, "pattern", pattern=pattern)
        if key == "m" and len(question.together) > 1:
            count = len(question.together)
            screen.line(translate("All {count} writes of this message are allowed.", count=count), "dim")
            return Decision(True, "message")
        return self._told(Decision.read(answer))

    def _told(self, decision: Decision) -> Decision:
        """The decision, with a word to the person about what comes of it."""
        screen = self._terminal.screen
        if decision.scope == "session":
            screen.line(
                translate(
                    "From now on every write of this session is allowed without asking. /permissions takes it back."
                ),
                "dim",
            )
        elif decision.reason:
            screen.line(translate("Refused. The model is told why."), "dim")
        elif not decision.allowed:
            screen.line(translate("Refused. The model is told."), "dim")
        return decision

    async def _hunk_by_hunk(self, question: Question) -> Decision:
        hunks = question.proposal.change.hunks
        lines = iter(self._diff(question).split("\n")[2:])
        chosen = []
        for number, hunk in enumerate(hunks, 1):
            show_diff(self._terminal.screen, "\n".join(islice(lines, hunk.text.count("\n"))))
            asked = translate("Take hunk {number} of {count}? (y/N): ", number=number, count=len(hunks))
            if agrees(await self._terminal.input.ask(asked)):
                chosen.append(number)
        if not chosen:
            return Decision(False)
        return Decision(True, hunks=() if len(chosen) == len(hunks) else tuple(chosen))

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
