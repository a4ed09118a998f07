"""Carries out the stage's cues on the screen; decides nothing."""

from __future__ import annotations

from nebula.cli.terminal.output.live_line import LiveLine
from nebula.cli.terminal.output.screen import Screen
from nebula.events import Approval, Stamped
from nebula.stage import Ask, Backstage, Close, Cue, Curtain, Remark, Say, Stage

BACKSTAGE_LINES = 12
"""What backstage shows of one result; log.txt has all of it."""


class TurnView:
    def __init__(self, screen: Screen, live: LiveLine, stage: Stage) -> None:
        self._screen = screen
        self._live = live
        self.stage = stage
        self.asked: Approval | None = None
        """The question on the table, fit to be shown."""
        self._behind = False
        """Backstage spoke last; what the audience hears next stands apart from it."""

    def read(self, stamped: Stamped) -> None:
        for cue in self.stage.read(stamped):
            self._carry_out(cue)

    def _carry_out(self, cue: Cue) -> None:
        if isinstance(cue, Curtain):
            self._live.raise_(cue.path)
            return
        if isinstance(cue, Backstage):
            self._backstage(cue)
            return
        self._live.lower()
        if self._behind:
            self._screen.line()
            self._behind = False
        if isinstance(cue, Say):
            self._screen.say(cue.text)
        elif isinstance(cue, Remark):
            self._screen.line(cue.text, "yellow")
        elif isinstance(cue, Ask):
            self.asked = cue.approval
        elif isinstance(cue, Close):
            self._screen.line(cue.line, "dim")
            self._screen.line()

    def _backstage(self, cue: Backstage) -> None:
        self._behind = True
        self._screen.line(f"· {cue.title}", "dim")
        lines = cue.text.rstrip("\n").split("\n") if cue.text else []
        shown = lines[:BACKSTAGE_LINES]
        if len(lines) > len(shown):
            shown.append(f"… +{len(lines) - len(shown)}")
        for line in shown:
            self._screen.line(f"  {line}", "dim")

    def end(self) -> None:
        self._live.lower()
