"""Markdown of an answer as HTML: what answers are made of, and nothing that could run or load.

Tags that a model wrote are text, links lead to http(s) addresses alone, and an image stays the text it is.
"""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

_LOWEST_HEADING = 6


def markdown_to_html(text: str) -> str:
    """Return the blocks of a Markdown text as HTML."""
    return str(_reader().render(text)).rstrip("\n")


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "breaks": True, "xhtmlOut": False})
    reader.enable(["strikethrough", "table"]).disable("image")
    reader.validateLink = lambda url: url.startswith(("http://", "https://"))  # type: ignore[method-assign]
    reader.core.ruler.push("harmless", _make_harmless)
    return reader


def _make_harmless(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(_LOWEST_HEADING, int(token.tag[1:]) + 2)}"  # a turn has the first two
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("rel", "noreferrer")
