"""The plain text of `nebula -p`: what the audience sees goes to stdout, everything else to stderr."""

from __future__ import annotations

import asyncio

from nebula.cli.printing import print_line, print_remark
from nebula.cli.retries import asked_again
from nebula.config import Settings
from nebula.events import Approval, Final, Retry, Stamped
from nebula.language import translate
from nebula.stage import Backstage, Close, Remark, Say, Stage, StageOptions, one_line

QUIET_S = 15.0
"""After so long without a sign a waiting person is told that it goes on; then after twice as long, and so forth."""


class TextFace:
    def __init__(self, settings: Settings) -> None:
        self._stage = Stage(StageOptions(settings.lang, settings.curtain, settings.backstage))
        self._spoken = False
        self._silence = Silence()

    def __call__(self, stamped: Stamped) -> None:
        event = stamped.event
        self._silence.broken(over=isinstance(event, Final))
        if isinstance(event, Retry):
            remark(asked_again(event, round(event.delay_s)))
        elif isinstance(event, Approval) and event.decision == "no":
            path = one_line(event.path)
            remark(translate("{path} was not written: nobody is there to ask. To allow it add --yes.", path=path))
        for cue in self._stage.read(stamped):
            if isinstance(cue, Say):
                print_line(("\n" if self._spoken else "") + cue.text.rstrip("\n"))
                self._spoken = True
            elif isinstance(cue, Remark):
                remark(cue.text)
            elif isinstance(cue, Backstage):
                print_remark(f"· {cue.title}" + (f"\n{cue.text}" if cue.text else ""))
            elif isinstance(cue, Close) and cue.line and cue.final.files_changed:
                print_remark(cue.line)


def remark(text: str) -> None:
    print_remark(f"nebula: {text}")


class Silence:
    """Speaks up on stderr when nothing has happened for a while: an endpoint that hangs is not a program that hangs."""

    def __init__(self, quiet_s: float = QUIET_S) -> None:
        self._quiet_s = quiet_s
        self._timer: asyncio.TimerHandle | None = None

    def broken(self, *, over: bool) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not over:
            self._wait(self._quiet_s, 0.0)

    def _wait(self, seconds: float, waited: float) -> None:
        def speak() -> None:
            remark(
                translate("still waiting for the model ({seconds} s); Ctrl-C stops", seconds=round(waited + seconds))
            )
            self._wait((waited + seconds), waited + seconds)

        self._timer = asyncio.get_running_loop().call_later(seconds, speak)
