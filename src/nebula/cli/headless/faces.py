"""What shows a turn of a command that nobody sits in front of: every event, the last one, or text."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from nebula.cli.busy import come_back
from nebula.cli.printing import make_room, print_json, print_remark
from nebula.config import Settings
from nebula.events import Approval, Final, Notice, Stamped, Step, Task, ToolResult
from nebula.language import Sentence, explain

if TYPE_CHECKING:
    from nebula.cli.turn_lines import Refusals

Face = Callable[[Stamped], None]


def chosen_face(
    output_format: str, text_face: Callable[[], Face], lang: str, said: list[Sentence], program: str = "nebula"
) -> Face:
    """Return what shows a turn: every event or the last one as JSON, else what `text_face` makes.

    `said` are the remarks that went to stderr before; those that only a face can make are added to it.
    """
    if output_format in ("json", "stream-json"):
        return JsonFace(program, lang, said, every=output_format == "stream-json")
    return text_face()


class JsonFace:
    """Prints every event, or the last one. Remarks go to stderr as well, and all of them stand in the last event.

    `seq` of a stream counts its lines, also those that are in no record.
    """

    def __init__(self, program: str, lang: str, said: list[Sentence], *, every: bool) -> None:
        self._program = program
        self._lang = lang
        self._said = said
        self._every = every
        self._lines = 0
        self._remarks = {str(each) for each in said}

    def __call__(self, stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, Notice):
            self._remark(event.sentence)
        elif isinstance(event, Step | Approval | ToolResult) and (said := self._refusals.read(event)):
            self._remark(said)
        elif isinstance(event, Final):
            self._close(event)
        if self._every:
            self._lines += 1
            print_json(stamped.to_json() | {"seq": self._lines})
        elif isinstance(event, Final):
            print_json(stamped.to_json())

    def _close(self, final: Final) -> None:
        """Say how the turn ended where it did not end well, and which of its commands and checks failed."""
        if final.needs_explaining:
            self._remark(final.explain())
        if final.status == "ok" and not (final.commands or final.checks):
            return
        from nebula.stage.closing import list_failures

        for line in list_failures(final, self._lang):
            print_remark(line)

    def _remark(self, said: Sentence) -> None:
        if str(said) not in self._remarks:
            self._remarks.add(str(said))
            print_remark(f"{self._program}: {explain(said)}")
            if not self._every:
                come_back()

    @cached_property
    def _refusals(self) -> Refusals:
        from nebula.cli.turn_lines import Refusals  # it needs the stage, which a first request does not wait for

        return Refusals(self._said)


class LateTextFace:
    """A turn as text, whose stage is loaded when there is something to show: most often while the model answers. Of the
    prompt nothing is, so it is read with what comes next."""

    def __init__(self, settings: Settings, said: list[Sentence]) -> None:
        self._settings = settings
        self._said = said
        self._task: Stamped | None = None
        self._face: Face | None = None

    def __call__(self, stamped: Stamped) -> None:
        if self._face is None:
            if isinstance(stamped.event, Task):
                self._task = stamped
                return
            make_room()
            from nebula.cli.headless.text import TextFace

            self._face = TextFace(self._settings, self._said)
            if self._task is not None:
                self._face(self._task)
        self._face(stamped)
