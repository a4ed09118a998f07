"""What shows a turn of a command that nobody sits in front of: every event, the last one, or text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from nebula.cli.printing import make_room, print_json, print_remark
from nebula.events import Final, Notice, Stamped, Task
from nebula.language import explain

if TYPE_CHECKING:
    from nebula.config import Settings

Face = Callable[[Stamped], None]


def chosen_face(output_format: str, text_face: Callable[[], Face], program: str = "nebula") -> Face:
    """Return what shows a turn: every event or the last one as JSON, else what `text_face` makes."""
    if output_format == "stream-json":
        return lambda stamped: print_json(stamped.to_json())
    return partial(_last_as_json, program) if output_format == "json" else text_face()


def _last_as_json(program: str, stamped: Stamped) -> None:
    """Print the last event; notices go to stderr, since it does not hold them."""
    if isinstance(stamped.event, Final):
        print_json(stamped.to_json())
    elif isinstance(stamped.event, Notice):
        print_remark(f"{program}: {explain(stamped.event.sentence)}")


class LateTextFace:
    """A turn as text, whose stage is loaded when there is something to show: most often while the model answers. Of the
    prompt nothing is, so it is read with what comes next."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._task: Stamped | None = None
        self._face: Face | None = None

    def __call__(self, stamped: Stamped) -> None:
        if self._face is None:
            if isinstance(stamped.event, Task):
                self._task = stamped
                return
            from nebula.cli.headless.text import TextFace

            make_room()
            self._face = TextFace(self._settings)
            if self._task is not None:
                self._face(self._task)
        self._face(stamped)
