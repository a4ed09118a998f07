"""Carries out the stage's cues on the screen; decides nothing."""

from __future__ import annotations

from nebula.cli.terminal.output.live_line import LiveLine
from nebula.cli.terminal.output.screen import Screen
from nebula.cli.terminal.output.width import BETWEEN
from nebula.cli.turn_lines import DraftLines, Refusals
from nebula.events import Approval, Retry, Stamped
from nebula.language import explain
from nebula.stage import Backstage, Checklist, Close, Cue, Curtain, DraftText, Heard, Remark, Say, Stage, StageOptions
from nebula.value import replace

BACKSTAGE_LINES = 12
"""What backstage shows of one result; log.txt has all of it."""
MARKS = {"pending": ("☐", "dim"), "in_progress": ("▸", "bold"), "completed": ("✔", "green")}
"""How a step of the model's list is shown."""
HIDDEN_CUES = 200
"""So many of the newest are kept for somebody who looks backstage later."""


class TurnView:
    """`backstage` says whether the tools are shown; what was not is kept, and shown as soon as somebody asks."""

    def __init__(self, screen: Screen, live: LiveLine, options: StageOptions) -> None:
        self._screen = screen
        self._live = live
        self._stage = Stage(replace(options, backstage=True))
        self._backstage = options.backstage
        self._hidden: list[Backstage] = []
        self._refusals = Refusals(in_session=True)
        self._draft = DraftLines()
        self._behind = False
        """Backstage spoke last; what the audience hears next stands apart from it."""
        self._beside = False
        """A remark, or what the user said meanwhile, came last; the model's words stand apart from it."""

    def read(self, stamped: Stamped) -> None:
        for cue in self._stage.read(stamped):
            self._carry_out(cue)
        refused = self._refusals.read(stamped.event)
        if refused and not isinstance(stamped.event, Approval):
            self._screen.line(explain(refused), "yellow")
        if isinstance(stamped.event, Retry):
            self._live.wait(stamped.event)

    def look_backstage(self, shown: bool) -> None:
        """Show the tools from now on, or no longer; when it begins, also those that have run so far."""
        self._backstage = shown
        if shown:
            hidden, self._hidden = self._hidden, []
            for cue in hidden:
                self._show_backstage(cue)

    def _carry_out(self, cue: Cue) -> None:
        if isinstance(cue, Curtain):
            self._live.raise_(cue.path, cue.doing, cue.amount)
            return
        if isinstance(cue, DraftText):
            for line in self._draft.add(cue) if self._backstage else ():
                self._behind = True
                self._screen.verbatim(line, "dim")
            return
        if isinstance(cue, Backstage):
            if self._backstage:
                self._show_backstage(cue)
            else:
                self._hidden = [*self._hidden, cue][-HIDDEN_CUES:]
            return
        self._live.lower()
        self._draft.clear()
        if self._behind or (self._beside and isinstance(cue, Say)):
            self._screen.line()
        self._behind, self._beside = False, isinstance(cue, Remark | Heard | Checklist)
        if isinstance(cue, Say):
            self._screen.say(cue.text)
        elif isinstance(cue, Remark):
            self._screen.line(cue.text, "yellow")
        elif isinstance(cue, Heard):
            self._screen.line(f"↪ {cue.text}", "bold", hang=2)
        elif isinstance(cue, Checklist):
            for item in cue.items:
                mark, style = MARKS[item.status]
                self._screen.line(f"{mark} {item.content}", style, hang=2)
        elif isinstance(cue, Close):
            for line in cue.failed:
                self._screen.line(line, "red", hang=2)
            self._screen.parts(cue.line.split(BETWEEN), "dim")
            self._screen.line()

    def _show_backstage(self, cue: Backstage) -> None:
        self._behind = True
        self._screen.line(f"· {cue.title}", "dim", hang=2)
        lines = cue.text.rstrip("\n").split("\n") if cue.text else []
        shown = lines[:BACKSTAGE_LINES]
        if len(lines) > len(shown):
            shown.append(f"… +{len(lines) - len(shown)}")
        for line in shown:
            self._screen.verbatim(f"  {line}", "dim")

    def end(self) -> None:
        self._live.lower()
