"""The question before a write, in place: what, how much, and the ways to answer."""

from __future__ import annotations

import asyncio
import unicodedata
from glob import escape
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from nebula.cli.terminal.dialogs.change_set import CallDialog, ChangeSetDialog
from nebula.cli.terminal.input.contract import EndOfInput, Interrupted
from nebula.cli.terminal.output.diff_view import fits_half, show_diff
from nebula.language import translate
from nebula.stage import neutralise, one_line
from nebula.tools.approval import (
    AnyQuestion,
    CallQuestion,
    Decision,
    NetworkQuestion,
    Question,
    SetQuestion,
    agrees,
    allow_all,
)
from nebula.tools.writing import Proposal

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession


class Dialog(Protocol):
    def introduce(self) -> None: ...

    def show(self) -> None:
        """What the answer is about, in full, and the ways to answer."""

    async def decide(self, answer: str) -> Decision | None:
        """None: show it first, then ask again."""


class TerminalApprover:
    """Asks the person at the terminal. A sentence instead of a key refuses, and the model is told the sentence."""

    def __init__(self, terminal: TerminalSession) -> None:
        self.terminal = terminal
        self.listed: tuple[str, ...] = ()
        """The writes shown together last, so that one message lists them once."""

    async def __call__(self, question: AnyQuestion) -> Decision:
        dialog = self._dialog(question)
        dialog.introduce()
        while True:
            try:
                answer = await self.terminal.input.ask(translate("Go ahead? (y/N): "), fresh=True)
                decision = await dialog.decide(answer)
            except EndOfInput:
                return Decision(False)
            except Interrupted:
                return await self._interrupted()
            if decision is not None and _is_no_sentence(decision.reason):
                self.terminal.screen.line(
                    translate("{answer} is no answer to this question.", answer=one_line(decision.reason)), "yellow"
                )
                continue
            if decision is not None:
                self._say_what_comes_of(decision, question)
                self.terminal.screen.line()
                return decision
            dialog.show()

    def _dialog(self, question: AnyQuestion) -> Dialog:
        if isinstance(question, SetQuestion):
            return ChangeSetDialog(self.terminal, question)
        if isinstance(question, NetworkQuestion | CallQuestion):
            return CallDialog(self.terminal, question)
        return _WriteDialog(self, question)

    def _say_what_comes_of(self, decision: Decision, question: AnyQuestion) -> None:
        screen = self.terminal.screen
        if decision.scope == "session" and isinstance(question, Question | SetQuestion):
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

    async def _interrupted(self) -> Decision:
        self.terminal.interrupt()
        # The turn is being cancelled, and this question with it.
        never: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        return await never


class YesToWrites(TerminalApprover):
    """Only asks what --yes does not answer."""

    async def __call__(self, question: AnyQuestion) -> Decision:
        return await (super().__call__(question) if isinstance(question, NetworkQuestion) else allow_all(question))


class _WriteDialog:
    """One file: yes, no, hunk by hunk, for how long, or a sentence that refuses."""

    def __init__(self, asker: TerminalApprover, question: Question) -> None:
        self._asker = asker
        self._terminal = asker.terminal
        self._question = question
        self._seen = False
        """The whole difference stands above the question."""

    def introduce(self) -> None:
        screen, question = self._terminal.screen, self._question
        paths = tuple(each.path for each in question.together)
        if len(paths) > 1 and paths != self._asker.listed:
            screen.line(translate("This message writes {count} files:", count=len(paths)))
            for proposal in question.together:
                screen.line(f"  {_counted(proposal)}")
        self._asker.listed = paths
        file = _counted(question.proposal)
        if question.proposal.mode == "create":
            screen.line(translate("Create a new file: {path}", path=file), "bold")
        else:
            screen.line(translate("Edit an existing file: {path}", path=file), "bold")
        if question.asked_again:
            screen.line(translate("The file changed in the meantime; this is the new difference."), "yellow")
        if fits_half(screen, [self._diff()]):
            self._show_diff()
        self._show_keys()

    def _show_keys(self) -> None:
        self._terminal.screen.parts(self._keys(), "dim")

    def _keys(self) -> list[str]:
        question = self._question
        keys = [translate("y yes · n no") if self._seen else translate("y yes · n no · d show the diff")]
        if len(question.proposal.change.hunks) > 1:
            keys.append(translate("h choose hunk by hunk"))
        if len(question.together) > 1:
            keys.append(translate("m yes to all {count} of this message", count=len(question.together)))
        pattern = one_line(pattern_for(question.proposal.path))
        keys.append(translate("a yes to all in this session"))
        keys.append(translate("p always for {pattern} in this session", pattern=pattern))
        return [*keys, translate("or say why not")]

    def show(self) -> None:
        self._show_diff()
        self._show_keys()

    def _show_diff(self) -> None:
        self._seen = True
        show_diff(self._terminal.screen, self._diff())

    async def decide(self, answer: str) -> Decision | None:
        """None: look at the difference first."""
        # An input method left on types full-width letters.
        key = unicodedata.normalize("NFKC", answer).strip().lower()
        if key in ("d", "diff"):
            return None
        if key == "h":
            return await self._hunk_by_hunk() if self._question.proposal.change.hunks else None
        return self._decision(key, answer)

    def _decision(self, key: str, answer: str) -> Decision:
        screen, question = self._terminal.screen, self._question
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
        return Decision.read(answer)

    async def _hunk_by_hunk(self) -> Decision:
        hunks = self._question.proposal.change.hunks
        lines = iter(self._diff().split("\n")[2:])
        chosen = []
        for number, hunk in enumerate(hunks, 1):
            show_diff(self._terminal.screen, "\n".join(islice(lines, hunk.text.count("\n"))))
            asked = translate("Take hunk {number} of {count}? (y/N): ", number=number, count=len(hunks))
            if agrees(await self._terminal.input.ask(asked)):
                chosen.append(number)
        if not chosen:
            return Decision(False)
        return Decision(True, hunks=() if len(chosen) == len(hunks) else tuple(chosen))

    def _diff(self) -> str:
        question = self._question
        asked = self._terminal.view.asked if self._terminal.view else None
        if asked is not None and asked.approval_id == question.approval_id:
            return asked.diff
        return neutralise(question.proposal.diff)


def _is_no_sentence(reason: str) -> bool:
    """A key that is not offered here, or a command: a slip, which must not refuse anything."""
    said = unicodedata.normalize("NFKC", reason).strip()
    return said.isascii() and (len(said) == 1 or (said[:1] == "/" and said[1:].isalpha()))


def _counted(proposal: Proposal) -> str:
    return f"{one_line(proposal.path)} (+{proposal.added} −{proposal.removed})"


def pattern_for(path: str) -> str:
    """Files of the same kind; a file without an ending stands for itself."""
    name = path.rsplit("/", 1)[-1]
    stem, dot, ending = name.rpartition(".")
    return f"*.{escape(ending)}" if stem and dot and ending else escape(path)
