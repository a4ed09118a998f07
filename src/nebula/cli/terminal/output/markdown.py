"""Markdown on a terminal, by rich, with the few things set otherwise that get in the way of reading and copying."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement, Paragraph, TableDataElement
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from nebula.cli.terminal.output.width import places_to_break

_THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.h1": "bold",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.item.bullet": "none",
        "markdown.item.number": "none",
    }
)
_SPACES_AT_END = re.compile(r"[ ]+((?:\x1b\[0m)*)$", re.MULTILINE)


class LeftHeading(Heading):
    """A heading at the left margin, without the box and the centring."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield _broken(self.text, options.max_width)


class Prose(Paragraph):
    """Broken between words and by the rules of Japanese; rich takes a Japanese sentence for one long word."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = self.justify
        yield _broken(self.text, options.max_width)


class Cell(TableDataElement):
    """Whole, on as many lines as it takes; rich cuts off words longer than a column: addresses, Japanese sentences."""

    def __init__(self, justify: JustifyMethod) -> None:
        super().__init__(justify)
        self.content = _CellText("", justify=justify, overflow="fold")


class _CellText(Text):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        return Text.__rich_console__(_broken(self, options.max_width), console, options)


def _broken(text: Text, columns: int) -> Text:
    if text.plain.isascii():
        return text
    lines = Text("\n", justify=text.justify, overflow=text.overflow)
    pieces = [piece for line in text.split() for piece in line.divide(places_to_break(line.plain, columns))]
    for piece in pieces:
        piece.rstrip()
    return lines.join(pieces)


class PlainMarkdown(Markdown):
    """Nothing the model wrote is lost: tags are text, and its line breaks are kept."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": LeftHeading,
        "paragraph_open": Prose,
        "td_open": Cell,
        "th_open": Cell,
    }

    def __init__(self, text: str) -> None:
        super().__init__(text, code_theme="ansi_dark", hyperlinks=False)
        reader = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
        self.parsed = reader.parse(text)
        for token in self.parsed:
            for child in token.children or ():
                _keep(child)


def _keep(token: Token) -> None:
    """Keep as it was written what would be left out or joined."""
    if token.type == "softbreak":
        token.type = "hardbreak"
    elif token.type == "image":
        token.content = f"![{token.content}]({token.attrGet('src')})"
        token.type, token.children = "text", None


def rendered(text: str, columns: int, *, colour: bool = True) -> str:
    """Return the text with styles as escape sequences. Links show their address: nothing is hidden behind a word."""
    console = Console(
        file=StringIO(),
        width=columns,
        force_terminal=True,
        color_system="standard",
        no_color=not colour,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        theme=_THEME,
    )
    with console.capture() as capture:
        console.print(PlainMarkdown(text), end="")
    return _SPACES_AT_END.sub(r"\1", capture.get()).strip("\n")
