"""The questions about a command: what it would change, and whether it may use the network."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from nebula.cli.terminal.output.diff_view import fits_half, show_diff
from nebula.language import Sentence, explain, translate, translate_count
from nebula.stage import neutralise, one_line
from nebula.tools.approval import CallQuestion, Decision, NetworkQuestion, SetQuestion, agrees

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession
    from nebula.events import ProposedChange

LISTED = 30
"""Changes that are listed; the diffs show all of them."""

_KINDS = {
    "created": Sentence("created"),
    "changed": Sentence("changed"),
    "deleted": Sentence("deleted"),
    "mode": Sentence("mode"),
    "link": Sentence("link"),
}


class ChangeSetDialog:
    """One set: yes, no, file by file, or a sentence that refuses."""

    def __init__(self, terminal: TerminalSession, question: SetQuestion) -> None:
        self._terminal = terminal
        self._question = question
        asked = terminal.view.asked if terminal.view else None
        seen = asked.changes if asked is not None and asked.approval_id == question.approval_id else None
        self._shown = seen or question.changes
        """Fit to be shown, in the order of the question."""
        self._seen = not self._shown
        """All differences stand above the question."""

    def introduce(self) -> None:
        screen, changes = self._terminal.screen, self._shown
        if changes:
            screen.line(
                translate_count(
                    len(changes),
                    "A command wants to change 1 file:",
                    "A command wants to change {count} files:",
                ),
                "bold",
            )
        else:
            screen.line(translate("A command has made files that git ignores:"), "bold")
        at_once = fits_half(screen, [each.diff or each.path for each in changes])
        if not at_once or len(changes) > 1:  # else its one line stands above the difference
            for change in changes[:LISTED]:
                screen.line(f"  {_counted(change)}")
        if len(changes) > LISTED:
            screen.line(f"  … +{len(changes) - LISTED}")
        for remark in self._question.remarks:
            screen.line(one_line(explain(remark)), "yellow")
        if at_once:
            self._show_all()
        self._show_keys()

    def _show_keys(self) -> None:
        keys = [translate("y yes · n no") if self._seen else translate("y yes · n no · d show the diff")]
        if len(self._shown) > 1:
            keys.append(translate("f choose file by file"))
        keys += [translate("a yes to all in this session"), translate("or say why not")]
        self._terminal.screen.parts(keys, "dim")

    def show(self) -> None:
        self._show_all()
        self._show_keys()

    def _show_all(self) -> None:
        self._seen = True
        for change in self._shown:
            self._show_one(change)

    async def decide(self, answer: str) -> Decision | None:
        """None: look at the differences first."""
        key = unicodedata.normalize("NFKC", answer).strip().lower()
        if key in ("d", "diff") and self._shown:
            return None
        if key == "f" and len(self._shown) > 1:
            return await self._file_by_file()
        return Decision.read(answer)

    async def _file_by_file(self) -> Decision:
        chosen = []
        for number, (change, real) in enumerate(zip(self._shown, self._question.changes, strict=True), 1):
            self._show_one(change)
            asked = translate("Take file {number} of {count}? (y/N): ", number=number, count=len(self._shown))
            if agrees(await self._terminal.input.ask(asked)):
                chosen.append(real.path)
        if not chosen:
            return Decision(False)
        return Decision(True, paths=() if len(chosen) == len(self._shown) else tuple(chosen))

    def _show_one(self, change: ProposedChange) -> None:
        self._terminal.screen.line(_counted(change), "bold")
        if change.diff:
            show_diff(self._terminal.screen, neutralise(change.diff))


class CallDialog:
    """The network, or a tool of somebody else's server: what is called is all that can be shown beforehand."""

    def __init__(self, terminal: TerminalSession, question: NetworkQuestion | CallQuestion) -> None:
        self._screen = terminal.screen
        self._question = question

    def introduce(self) -> None:
        line, question = self._screen.line, self._question
        if isinstance(question, CallQuestion):
            line(translate("Call {tool} with:", tool=one_line(question.tool)), "bold")
            self._show_call(question.arguments)
            line(translate("y yes, once · a yes to this tool in this session · n no · or say why not"), "dim")
            return
        line(translate("A command asks for the network:"), "bold")
        self._show_call(question.command)
        shared = translate(
            "It would share this machine's network, servers on loopback included; what it can read, it can send."
        )
        line(shared, "yellow")
        line(translate("y yes, once · a yes for this session · n no · or say why not"), "dim")

    def _show_call(self, text: str) -> None:
        for line in neutralise(text).split("\n"):
            self._screen.verbatim(f"  {line}")

    def show(self) -> None:
        self.introduce()

    async def decide(self, answer: str) -> Decision | None:
        return Decision.read(answer)


def _counted(change: ProposedChange) -> str:
    kind = explain(_KINDS[change.kind]) if change.kind in _KINDS else change.kind
    path = one_line(change.path)
    if change.renamed_from:
        path = translate("{path} (was {old})", path=path, old=one_line(change.renamed_from))
    counts = f" (+{change.added} −{change.removed})" if change.added or change.removed else ""
    return f"{kind}  {path}{counts}"
