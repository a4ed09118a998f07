"""All that is printed. Output is append-only: what was printed is never drawn again; only the live line changes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from nebula.cli.terminal.output.width import cut
from nebula.stage import neutralise, one_line

CLEAR_TO_END = "\x1b[K"
_STYLES: Mapping[str, str] = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


@dataclass(slots=True)
class Screen:
    out: TextIO
    colour: bool = False
    """Styles may be used: a capable terminal, and nobody set NO_COLOR."""
    moving: bool = False
    """The terminal obeys cursor movement, so a live line is possible."""
    _live: bool = False

    @property
    def columns(self) -> int:
        return max(20, shutil.get_terminal_size((80, 24)).columns)

    def line(self, text: str = "", style: str = "") -> None:
        """Lines of the program itself. Whatever is in them, the terminal obeys none of it."""
        self.end_live()
        for each in neutralise(text).split("\n"):
            self.out.write(self.styled(each, style) + "\n")
        self.out.flush()

    def styled(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and text and self.colour else text

    def say(self, text: str) -> None:
        """The model's words. With styles they are set as Markdown; without, shown as they were written."""
        self.end_live()
        text = neutralise(text).strip("\n")
        if self.colour:
            from nebula.cli.terminal.output.markdown import rendered

            text = rendered(text, self.columns)
        self.out.write(f"{text}\n\n")
        self.out.flush()

    def ask(self, question: str) -> None:
        """A question whose answer is typed on the same line."""
        self.end_live()
        self.out.write(neutralise(question))
        self.out.flush()

    def live(self, text: str) -> None:
        """Redraws the one live line: cut, so that it never wraps, and cleared last, so that it never flickers."""
        if self.moving:
            self.out.write("\r" + self.styled(cut(one_line(text), self.columns - 1), "dim") + CLEAR_TO_END)
            self.out.flush()
            self._live = True

    def end_live(self) -> None:
        if self._live:
            self._live = False
            self.out.write("\r" + CLEAR_TO_END)
            self.out.flush()


def is_capable(*streams: TextIO) -> bool:
    """Whether all of these are terminals that obey cursor movement."""
    return all(stream.isatty() for stream in streams) and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def wants_colour() -> bool:
    return not os.environ.get("NO_COLOR")
