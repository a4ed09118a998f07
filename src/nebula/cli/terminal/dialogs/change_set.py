"""The questions about a command: what it would change, and whether it may use the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.cli.terminal.dialogs.questions import choose_one_by_one
from nebula.cli.terminal.output.diff_view import fits_half, show_diff
from nebula.cli.terminal.output.screen import Screen
from nebula.events import Approval, ProposedChange
from nebula.events.approval import TAKE
from nebula.language import Sentence, explain, fold_width, translate, translate_count
from nebula.stage.questions import NETWORK_WARNING, head_question, name_change
from nebula.tools.approval import Decision
from nebula.value import replace

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession

LISTED = 30
"""Changes that are listed; the diffs show all of them."""
COMMAND_LINES = 8
"""Lines of a command that stand above what it changed."""

_ONCE = Sentence("y yes, once · n no · or say why not")
_ANSWERS = {
    "call": Sentence("y yes, once · a yes to this tool in this session · n no · or say why not"),
    "fetch": Sentence("y yes, once · a yes to this host in this session · n no · or say why not"),
    "folders": Sentence("y let commands read it, from now on · n no, and do not ask again"),
    "secrets": Sentence("y show them, in this session · n no · or say why not"),
    "read": _ONCE,
    "network": Sentence("y yes, once · a yes for this session · n no · or say why not"),
}


class ChangeSetDialog:
    """One set: yes, no, file by file, or a sentence that refuses."""

    def __init__(self, terminal: TerminalSession, question: Approval, shown: Approval) -> None:
        self._terminal = terminal
        self._question = question
        self._shown = shown
        """The question, fit to be shown; its changes stand in the same order."""
        self._is_taken = shown.tool == TAKE
        self._seen = not shown.changes
        """All differences stand above the question."""

    def introduce(self) -> None:
        screen, changes = self._terminal.screen, self._shown.changes
        if self._is_taken:
            said = "1 file changes if you take this:", "{count} files change if you take this:"
            screen.line(translate_count(len(changes), *said), "bold")
        elif changes:
            screen.line(
                translate_count(
                    len(changes), "A command wants to change 1 file:", "A command wants to change {count} files:"
                ),
                "bold",
            )
        elif self._shown.once:  # the files that it changed, if any, are the next question
            screen.line(translate("A command wants to do more than change files:"), "bold")
        else:
            screen.line(translate("A command changes no file that git tracks, but this:"), "bold")
        show_lines(screen, self._shown.text, "" if self._is_taken else "$ ", COMMAND_LINES)
        at_once = fits_half(screen, [each.diff or each.path for each in changes])
        if not at_once:  # else its line stands above each difference
            show_lines(screen, "\n".join(map(name_change, changes)), most=LISTED)
        for remark in self._shown.remarks:
            screen.line(str(remark), "yellow")
        if at_once:
            self._show_all()
        self._show_keys()

    def _show_keys(self) -> None:
        keys = [translate("y yes · n no") if self._seen else translate("y yes · n no · d show the diff")]
        if len(self._shown.changes) > 1:
            keys.append(translate("f choose file by file"))
        if not self._shown.once and not self._is_taken:
            reach = translate("a yes to all that git ignores in this session") if self._shown.ignored else ""
            keys.append(reach or translate("a yes to all in this session"))
        self._terminal.screen.parts([*keys, translate("or say why not")], "dim")

    def show(self) -> None:
        self._show_all()
        self._show_keys()

    def _show_all(self) -> None:
        self._seen = True
        for change in self._shown.changes:
            self._show_one(change)

    async def decide(self, answer: str) -> Decision | None:
        """Return what was decided; None: look at the differences first."""
        key = fold_width(answer).strip()
        if key in ("d", "diff") and self._shown.changes:
            return None
        if key == "f" and len(self._shown.changes) > 1:
            return await self._file_by_file()
        decision = Decision.read(answer)
        return replace(decision, scope="once") if self._is_taken else decision  # no later change goes without asking

    async def _file_by_file(self) -> Decision:
        changes, asked = self._shown.changes, translate("Take file {number} of {count}? (y/N): ")

        def show(number: int) -> None:
            self._show_one(changes[number - 1])

        chosen, reason = await choose_one_by_one(self._terminal, len(changes), show, asked)
        if len(chosen) == len(changes):
            return Decision(True)
        paths = tuple(self._question.changes[number - 1].path for number in chosen)
        return Decision(bool(chosen), reason=reason, paths=paths)

    def _show_one(self, change: ProposedChange) -> None:
        self._terminal.screen.line(name_change(change), "bold")
        if change.diff:
            show_diff(self._terminal.screen, change.diff)


class CallDialog:
    """The network, a tool of somebody else's server or a secret file: what is named is all that can be shown."""

    def __init__(self, terminal: TerminalSession, shown: Approval) -> None:
        self._screen = terminal.screen
        self._shown = shown

    def introduce(self) -> None:
        line, shown = self._screen.line, self._shown
        line(explain(head_question(shown)), "bold")
        if shown.kind != "read":
            show_lines(self._screen, shown.text)
        if shown.kind == "network":
            line(explain(NETWORK_WARNING), "yellow")
        for remark in shown.remarks:
            line(str(remark), "yellow")
        line(explain(_ONCE if shown.once else _ANSWERS[shown.kind]), "dim")

    def show(self) -> None:
        self.introduce()

    async def decide(self, answer: str) -> Decision | None:
        return Decision.read(answer)


def show_lines(screen: Screen, text: str, mark: str = "", most: int | None = None) -> None:
    """Show `text` indented, its first line after `mark`; of more than `most` lines the first ones."""
    lines = text.rstrip("\n").split("\n")
    for number, line in enumerate(lines[:most]):
        screen.verbatim(f"  {mark if number == 0 else ' ' * len(mark)}{line}")
    if most is not None and len(lines) > most:
        screen.line(f"  … +{len(lines) - most}")


def counted(change: ProposedChange) -> str:
    return f"{change.path} (+{change.added} −{change.removed})"
