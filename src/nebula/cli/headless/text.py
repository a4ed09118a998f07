"""A turn as plain text: what the audience sees goes to stdout, everything else to stderr."""

from __future__ import annotations

from nebula.cli.printing import print_remark, print_words
from nebula.cli.terminal.output.live_line import line_of_command
from nebula.cli.turn_lines import DraftLines, Refusals, asked_again
from nebula.config import Settings
from nebula.events import Event, Final, Retry, Stamped
from nebula.language import Sentence, explain
from nebula.stage import Backstage, Close, Cue, Curtain, DraftText, Remark, Say, Stage, StageOptions


class TextFace:
    def __init__(self, settings: Settings, said: list[Sentence] | None = None, prog: str = "nebula") -> None:
        self._prog = prog
        self._stage = Stage(StageOptions(settings.lang, settings.curtain, settings.backstage))
        self._refusals = Refusals(said)
        self._spoken = self._refused = False
        self._draft = DraftLines()
        self._live = line_of_command()

    def __call__(self, stamped: Stamped) -> None:
        event = stamped.event
        cues = self._stage.read(stamped)
        if any(not isinstance(cue, Curtain) for cue in cues):
            self._live.lower()  # and up again with the next sign of work
        if isinstance(event, Retry):
            self._remark(asked_again(event, round(event.delay_s)))
            self._live.raise_()
            self._live.wait(event)
        elif refused := self._refusals.read(event):
            self._remark(explain(refused))
            self._refused = True
        for cue in cues:
            self._carry_out(cue, event)

    def _carry_out(self, cue: Cue, event: Event) -> None:
        if isinstance(cue, Curtain):
            self._live.raise_(cue.path, cue.doing, cue.amount)
        elif isinstance(cue, DraftText):
            for line in self._draft.add(cue):
                print_remark(line)
        elif isinstance(cue, Say):
            self._draft.clear()
            print_words(("\n" if self._spoken else "") + cue.text.rstrip("\n"))
            self._spoken = True
        elif isinstance(cue, Remark) and not self._said_before(event):
            self._remark(cue.text)
        elif isinstance(cue, Backstage):
            print_remark(f"· {cue.title}" + (f"\n{cue.text}" if cue.text else ""))
        elif isinstance(cue, Close):
            for line in cue.failed:
                print_remark(line)
            if cue.line and (cue.final.files_changed or cue.final.changes_failed):
                print_remark(cue.line)

    def _said_before(self, event: Event) -> bool:
        """Return whether a refusal has been named: then that something was refused need not be said again."""
        return self._refused and isinstance(event, Final) and event.status == "refused" and not event.remark

    def _remark(self, text: str) -> None:
        self._live.lower()
        print_remark(f"{self._prog}: {text}")
