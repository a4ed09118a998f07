"""The question before a write, in place: what, how much, and the ways to answer."""

from __future__ import annotations

import asyncio
from glob import escape
from typing import TYPE_CHECKING, Protocol

from nebula.cli.terminal.dialogs.change_set import CallDialog, ChangeSetDialog, counted
from nebula.cli.terminal.dialogs.questions import choose_one_by_one, is_slip, say_no_answer
from nebula.cli.terminal.input.contract import OWN_COMMAND, EndOfInput, Interrupted
from nebula.cli.terminal.output.diff_view import fits_half, show_diff
from nebula.events import Approval, ProposedChange
from nebula.language import fold_width, translate
from nebula.stage import fit_to_decide, one_line
from nebula.stage.questions import head_write, split_hunks
from nebula.tools.approval import Decision, allow_all, reaches_too_far

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession


KEYS = "yndhmapf"
"""What answers a question by itself; a sentence is sent by Enter."""


class Dialog(Protocol):
    def introduce(self) -> None: ...

    def show(self) -> None:
        """Show what the answer is about, in full, and the ways to answer."""

    async def decide(self, answer: str) -> Decision | None:
        """Return what was decided; None: show it first, then ask again."""


class TerminalApprover:
    """Asks the person at the terminal. A sentence instead of a key refuses, and the model is told the sentence."""

    def __init__(self, terminal: TerminalSession) -> None:
        self.terminal = terminal
        self.listed: tuple[ProposedChange, ...] = ()
        """The writes shown together last, so that one message lists them once."""

    async def __call__(self, question: Approval) -> Decision:
        if question.decision is not None:
            return await allow_all(question)
        dialog = self._dialog(question)
        dialog.introduce()
        while True:
            try:
                answer = await self.terminal.input.ask(translate("Go ahead? (y/N): "), fresh=True, keys=KEYS)
                decision = await dialog.decide(answer)
            except EndOfInput:
                return Decision(False)
            except Interrupted:
                return await self._interrupted()
            if decision is None:
                dialog.show()
            elif (answer == decision.reason and is_slip(answer)) or reaches_too_far(question, decision):
                say_no_answer(self.terminal, answer)
            else:
                self._say_what_comes_of(decision, question)
                self.terminal.screen.line()
                return decision

    def _dialog(self, question: Approval) -> Dialog:
        shown = fit_to_decide(question, self.terminal.settings.lang)
        if question.kind == "command":
            return ChangeSetDialog(self.terminal, question, shown)
        if question.kind == "write":
            return _WriteDialog(self, question, shown)
        return CallDialog(self.terminal, shown)

    def _say_what_comes_of(self, decision: Decision, question: Approval) -> None:
        screen = self.terminal.screen
        if decision.allowed and decision.scope == "session":
            screen.line(_what_is_allowed(question), "dim")
        elif decision.allowed and decision.reason:
            screen.hint("The rest was left out. The model is told why.")
        elif decision.allowed:
            return
        elif question.tool == OWN_COMMAND[0]:
            screen.hint("Nothing was applied.")
        elif decision.reason:
            screen.hint("Refused. The model is told why.")
        else:
            screen.hint("Refused. The model is told.")

    async def _interrupted(self) -> Decision:
        self.terminal.interrupt()
        # The turn is being cancelled, and this question with it.
        never: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        return await never


class _WriteDialog:
    """One file: yes, no, hunk by hunk, for how long, or a sentence that refuses."""

    def __init__(self, asker: TerminalApprover, question: Approval, shown: Approval) -> None:
        self._asker = asker
        self._terminal = asker.terminal
        self._path = question.path
        self._shown = shown
        """The question, fit to be shown."""
        self._seen = False
        """The whole difference stands above the question."""

    def introduce(self) -> None:
        screen, shown = self._terminal.screen, self._shown
        together = shown.together
        if len(together) > 1 and together != self._asker.listed:
            screen.tell("This message writes {count} files:", count=len(together))
            for change in together:
                screen.line(f"  {counted(change)}")
        self._asker.listed = together
        (change,) = shown.changes
        screen.line(head_write(change, counted(change)), "bold")
        for remark in shown.remarks:
            screen.line(str(remark), "yellow")
        if fits_half(screen, [shown.diff]):
            self._show_diff()
        self._show_keys()

    def _show_keys(self) -> None:
        self._terminal.screen.parts(self._keys(), "dim")

    @property
    def _is_followed(self) -> bool:
        """Return whether more writes of the same message will be asked about."""
        together = [(each.path, each.added, each.removed) for each in self._shown.together]
        own = self._shown.changes[0]
        here = (own.path, own.added, own.removed)
        return len(together) > 1 and (here not in together or together.index(here) < len(together) - 1)

    def _keys(self) -> list[str]:
        shown = self._shown
        keys = [translate("y yes · n no") if self._seen else translate("y yes · n no · d show the diff")]
        if shown.hunks > 1:
            keys.append(translate("h choose hunk by hunk"))
        if not shown.once:
            if self._is_followed:
                keys.append(translate("m yes to all {count} of this message", count=len(shown.together)))
            keys.append(translate("a yes to all in this session"))
            keys.append(translate("p always for {pattern} in this session", pattern=one_line(pattern_for(self._path))))
        return [*keys, translate("or say why not")]

    def show(self) -> None:
        self._show_diff()
        self._show_keys()

    def _show_diff(self) -> None:
        self._seen = True
        show_diff(self._terminal.screen, self._shown.diff)

    async def decide(self, answer: str) -> Decision | None:
        """Return the decision that an answer is; None where the difference is to be looked at first."""
        # An input method left on types full-width letters.
        key = fold_width(answer).strip()
        if key in ("d", "diff"):
            return None
        if key == "h":
            return await self._hunk_by_hunk() if self._shown.hunks else None
        if self._shown.once:
            return Decision.read(answer)
        return self._decision(key, answer)

    def _decision(self, key: str, answer: str) -> Decision:
        screen, count = self._terminal.screen, len(self._shown.together)
        if key == "p":
            pattern = pattern_for(self._path)
            shown = one_line(pattern)
            screen.hint("From now on writes to {pattern} are allowed without asking, in this session.", pattern=shown)
            return Decision(True, "pattern", pattern=pattern)
        if key == "m" and count > 1:
            screen.hint("All {count} writes of this message are allowed.", count=count)
            return Decision(True, "message")
        return Decision.read(answer)

    async def _hunk_by_hunk(self) -> Decision:
        hunks = split_hunks(self._shown.diff)
        asked = translate("Take hunk {number} of {count}? (y/N): ")

        def show(number: int) -> None:
            show_diff(self._terminal.screen, hunks[number - 1])

        chosen, reason = await choose_one_by_one(self._terminal, len(hunks), show, asked)
        if len(chosen) == len(hunks):
            return Decision(True)
        return Decision(bool(chosen), reason=reason, hunks=tuple(chosen))


def _what_is_allowed(question: Approval) -> str:
    if question.kind == "call":
        return translate(
            "From now on {tool} is called without asking in this session. /permissions takes it back.",
            tool=one_line(question.tool),
        )
    if question.kind == "fetch":
        return translate("From now on pages of this host are fetched without asking. /permissions takes it back.")
    if question.kind == "network":
        return translate(
            "From now on commands get the network without asking in this session. /permissions takes it back."
        )
    if question.ignored:
        return translate(
            "From now on what commands leave in files that git ignores is kept without asking. "
            "/permissions takes it back."
        )
    return translate("From now on every write of this session is allowed without asking. /permissions takes it back.")


def pattern_for(path: str) -> str:
    """Return a pattern for files of the same kind: `*.py` for `src/a.py`; one without an ending is its own pattern."""
    name = path.rsplit("/", 1)[-1]
    stem, dot, ending = name.rpartition(".")
    return f"*.{escape(ending)}" if stem and dot and ending else escape(path)
