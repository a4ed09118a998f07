"""All that is printed. Output is append-only: what was printed is never drawn again; only the live line changes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from nebula.cli.terminal.output.width import BETWEEN, cut, wrap, wrap_parts
from nebula.language import translate
from nebula.stage import neutralise, one_line
from nebula.value import record

CLEAR_TO_END = "\x1b[K"
CLEAR_BELOW = "\x1b[J"
"""To the end of the screen: nothing of ours is ever below the live line but what a narrower window has made of it."""
_STYLES: Mapping[str, str] = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_MARK = "4"
"""Underlined, beside its colour: `red mark`."""
_WITHOUT_COLOUR = frozenset({"dim", "bold"})
_LONGEST_SET = 200_000
"""Characters that are set as Markdown. Setting takes half a second for so many, and more than twice as long for twice
as many: with one paragraph of some megabytes the terminal stood still for ten seconds."""


@record
class Screen:
    out: TextIO
    capable: bool = False
    """The terminal obeys styles and cursor movement, so that a live line is possible."""
    colour: bool = False
    """Nobody set NO_COLOR. Without colours bold, dim and the shape of the text are still there."""
    _live: bool = False
    _several: bool = False
    """The live line is the last of several."""
    _drawn_for: int = 0
    """The columns for which the live line was drawn last."""

    @property
    def columns(self) -> int:
        return max(20, shutil.get_terminal_size((80, 24)).columns)

    @property
    def rows(self) -> int:
        return max(8, shutil.get_terminal_size((80, 24)).lines)

    def line(self, text: str = "", style: str = "", *, hang: int = 0) -> None:
        """Sentences of the program, broken between words where they are too long; further lines hang so far in.

        Whatever is in them, the terminal obeys none of it.
        """
        room = self.columns if self.out.isatty() else 0
        for each in neutralise(text).split("\n"):
            self._write(wrap(each, room, hang) if room else [each], style)

    def tell(self, sentence: str, /, **values: Any) -> None:
        """Print a sentence in the user's language."""
        self.line(translate(sentence, **values))

    def hint(self, sentence: str, /, **values: Any) -> None:
        """Print the same where it only says what else can be done."""
        self.line(translate(sentence, **values), "dim")

    def warn(self, sentence: str, /, **values: Any) -> None:
        """Print the same where something was not done as it was asked for."""
        self.line(translate(sentence, **values), "yellow")

    def parts(self, parts: Sequence[str], style: str = "") -> None:
        """Such as the keys of a question: broken between them where they are too long for one line."""
        for each in wrap_parts(parts, self.columns) if self.out.isatty() else [BETWEEN.join(parts)]:
            self.line(each, style)

    def verbatim(self, text: str, style: str = "") -> None:
        """Print a line whose every blank counts, such as one of a diff: it is never broken by us."""
        self._write([neutralise(text)], style)

    def _write(self, lines: list[str], style: str) -> None:
        self.end_live()
        self.out.write("".join(self.styled(line, style) + "\n" for line in lines))
        self.out.flush()

    def pieces(self, pieces: Sequence[tuple[str, str]]) -> None:
        """Print a verbatim line of several pieces, each with its style."""
        self._write(["".join(self.styled(neutralise(text), style) for text, style in pieces)], "")

    def styled(self, text: str, style: str) -> str:
        name, _, mark = style.partition(" ")
        codes = [_STYLES[name]] if name and (self.colour or name in _WITHOUT_COLOUR) else []
        codes += [_MARK] if mark else []
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if codes and text and self.capable else text

    def say(self, text: str) -> None:
        """Show the model's words: set as Markdown on a terminal; as written elsewhere, and where they are too many."""
        self.end_live()
        text = neutralise(text).strip("\n")
        if self.capable and len(text) <= _LONGEST_SET:
            from nebula.cli.terminal.output.markdown import rendered

            text = rendered(text, self.columns, colour=self.colour)
        self.out.write(f"{text}\n\n")
        self.out.flush()

    def ask(self, question: str) -> None:
        """A question whose answer is typed on the same line."""
        self.end_live()
        self.out.write(neutralise(question))
        self.out.flush()

    def live(self, text: str, above: Sequence[str] = ()) -> None:
        """Redraw the live line, and those above it: cut, so that none ever wraps, and cleared last, so that none
        flickers.

        The cursor waits at their beginning. A window that gets narrower breaks a line, and the terminal keeps the
        cursor with its character: so what is cleared below it is all that the break has made.
        """
        if self.capable:
            shown = [*above[: self.rows - 2], text]
            lines = [self.styled(cut(one_line(each), self.columns - 1), "dim") for each in shown]
            several, self._several = len(lines) > 1 or self._several, len(lines) > 1
            clear = CLEAR_BELOW if several else self._clear()
            up = f"\x1b[{len(lines) - 1}A" if self._several else ""
            drawn = f"{CLEAR_TO_END}\n".join(lines)
            self.out.write(f"\r{drawn}{clear}{up}\r")
            self.out.flush()
            self._live = True

    def end_live(self) -> None:
        if self._live:
            self._live = False
            self.out.write("\r" + (CLEAR_BELOW if self._several else self._clear()))
            self._several = False
            self.out.flush()

    def _clear(self) -> str:
        """Return what clears the rest of the live line; where the window was resized since, also what is below."""
        before, self._drawn_for = self._drawn_for, self.columns
        return CLEAR_TO_END if before in (0, self._drawn_for) else CLEAR_BELOW


def screen_on(out: TextIO, *others: TextIO) -> Screen:
    """Return a screen on `out`: redrawn and styled where `out` and `others` are terminals that obey cursor movement."""
    terminals = all(stream.isatty() for stream in (out, *others))
    capable = terminals and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    return Screen(out, capable, colour=capable and not os.environ.get("NO_COLOR"))
