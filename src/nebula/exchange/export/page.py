"""The conversation as one HTML file: no script, nothing to load, readable in light and dark and on paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

from nebula.exchange.export.excerpt import Excerpt, shorten_ids
from nebula.exchange.export.markdown import headline, kind_of_change, tell_place, tell_tool
from nebula.graph.values import Connection, Node
from nebula.language import translate

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
"""Should an answer ever get an element past the escaping, the browser neither runs nor loads it."""


_LOWEST_HEADING = 6


def write_page(excerpt: Excerpt, lang: str) -> str:
    """Return the page; `lang` is the language of the words around the turns."""
    title, style = escape(excerpt.title), files("nebula.exchange.export").joinpath("page.css").read_text("utf-8")
    parents, short = excerpt.parents(), shorten_ids(excerpt)
    parts = [
        f'<!doctype html>\n<html lang="{escape(lang)}">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<h1>{title}</h1>",
    ]
    if excerpt.description:
        parts.append(f"<p>{escape(excerpt.description)}</p>")
    before = ""
    for number, node in enumerate(excerpt.nodes, 1):
        parts += _turn(number, node, parents.get(node.id, ()), before, short)
        before = node.id
    return "\n".join([*parts, "</body>\n</html>"]) + "\n"


def _turn(
    number: int, node: Node, parents: Sequence[Connection], before: str, short: Mapping[str, str]
) -> Iterator[str]:
    yield f'<article id="turn-{number}">\n<h2>{number}. {escape(" · ".join(headline(node, short)))}</h2>'
    if place := tell_place(parents, before, short):
        yield f'<p class="place">{escape(place)}</p>'
    for name in dict.fromkeys(each.name for each in node.attachments):
        yield f'<p class="place">{escape(translate("attached: {name}", name=name))}</p>'
    yield f'<div class="prompt">{escape(node.prompt)}</div>'
    tools = [told for text in node.texts if text.role == "tool" for told in tell_tool(text)]
    if tools:
        shown = "\n".join(f"<pre>{escape(told)}</pre>" for told in tools)
        yield f"<details><summary>{escape(translate('tools'))} ({len(tools)})</summary>\n{shown}\n</details>"
    yield markdown_to_html(node.response)
    if node.files:
        listed = "".join(
            f"<li><code>{escape(each.path)}</code> ({escape(kind_of_change(each.before, each.after))})</li>"
            for each in node.files
        )
        yield f'<ul class="files">{listed}</ul>'
    yield "</article>"


def markdown_to_html(text: str) -> str:
    """Return the Markdown of an answer as HTML in which nothing could run or load.

    Tags that a model wrote are text, links lead to http(s) addresses alone, and an image stays the text it is."""
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
