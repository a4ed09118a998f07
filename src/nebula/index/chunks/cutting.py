"""A file as chunks: every line in exactly one, cut where definitions begin and end.

Only a line that is too long for any chunk is in none. The tree is walked only as far as definitions reach: into the
bodies of modules, classes and the like, not into functions. What lies between definitions belongs to the definition
around it, or to none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nebula.index.chunks.languages import LANGUAGES, Language
from nebula.index.chunks.lines import Lines, has_overlong_line, leave_out_overlong, windows
from nebula.index.chunks.parsers import parse
from nebula.index.constants import MAX_DEPTH, MAX_LINES
from nebula.index.values import Span

if TYPE_CHECKING:
    from tree_sitter import Node

_NOT_UNDERSTOOD = "ERROR"
"""What the grammar makes of lines it cannot read (macros, conditional compilation); definitions stand in it as well."""
_NAME_BYTES = 120


def cut(lines: Lines, data: bytes, language: str) -> list[Span]:
    """Return the chunks of a file in order, given its lines, the same text whole, and its language ("": none)."""
    if not len(lines):
        return []
    tree = parse(language, data)
    if tree is None:
        spans = list(windows(lines, 1, len(lines)))
    else:
        cutter = _Cutter(lines, data, LANGUAGES[language])
        cutter.cut(tree.root_node, 1, len(lines), "", 0)
        spans = cutter.finished()
    return leave_out_overlong(lines, spans) if has_overlong_line(data) else spans


class _Cutter:
    def __init__(self, lines: Lines, data: bytes, language: Language) -> None:
        self._lines = lines
        self._data = data
        self._language = language
        self._comments = tuple(prefix.encode() for prefix in language.comments)
        self._spans: list[Span] = []
        self._scope = ""
        """The scope of the last span, if it is one definition or a few that were joined."""

    def finished(self) -> list[Span]:
        out: list[Span] = []
        for span in self._spans:
            if span.end - span.start < MAX_LINES:
                out.append(span)
            else:
                out.extend(windows(self._lines, span.start, span.end, span.symbol, MAX_LINES))
        return out

    def cut(self, node: Node, start: int, end: int, scope: str, depth: int) -> None:
        """Cut lines `start` to `end`, which `node` covers."""
        here = start
        for child in self._definitions(node, depth):
            first, last = child.start_point[0] + 1, min(_last_line(child), end)
            if last < here:
                continue
            first = self._with_comments(max(first, here), here)
            name = self._name(child)
            symbol = f"{scope}.{name}" if scope and name else name or scope
            self._between(here, first - 1, scope)
            if last - first < MAX_LINES or depth >= MAX_DEPTH or not self._has_inside(child, depth):
                self._define(first, last, symbol, scope)
            else:
                self.cut(child, first, last, symbol, depth + 1)
            here = last + 1
        self._between(here, end, scope)

    def _definitions(self, node: Node, depth: int) -> Iterator[Node]:
        language = self._language
        for child in node.named_children:
            kind = child.type
            if kind in language.definitions:
                yield child
            elif (kind in language.bodies or kind == _NOT_UNDERSTOOD) and depth < MAX_DEPTH:
                yield from self._definitions(child, depth + 1)

    def _has_inside(self, node: Node, depth: int) -> bool:
        return node.type not in self._language.whole and any(True for _ in self._definitions(node, depth + 1))

    def _with_comments(self, first: int, here: int) -> int:
        rows = self._lines.rows
        while first > here and self._comments and rows[first - 2].lstrip().startswith(self._comments):
            first -= 1
        return first

    def _between(self, start: int, end: int, scope: str) -> None:
        """Add lines that are no definition: blank ones stay with the chunk before, the rest becomes windows."""
        if start > end:
            return
        if self._spans and self._lines.is_blank(start, end):
            self._spans[-1] = self._spans[-1]._replace(end=end)
            return
        self._spans.extend(windows(self._lines, start, end, scope, MAX_LINES))
        self._scope = "\0"

    def _define(self, start: int, end: int, symbol: str, scope: str) -> None:
        before = self._spans[-1] if self._spans else None
        if (
            before is not None
            and self._scope == scope
            and max(before.end - before.start, end - start) + 1 < self._language.join_lines
            and end - before.start < MAX_LINES
        ):
            symbols = before.symbol if symbol == before.symbol else f"{before.symbol} {symbol}".strip()
            self._spans[-1] = Span(before.start, end, symbols)
            return
        self._spans.append(Span(start, end, symbol))
        self._scope = scope

    def _name(self, node: Node) -> str:
        """Return the name of a definition, looked for in its fields and the few children that may hold it."""
        language = self._language
        for _ in range(6):
            inner = next(filter(None, map(node.child_by_field_name, language.name_fields)), None)
            if inner is not None:
                if inner.type.endswith("declarator"):  # C: the name is inside
                    node = inner
                    continue
                return self._word(inner)
            inner = next((c for c in node.named_children if c.type in language.names), None) or next(
                (c for c in node.named_children if c.type in language.definitions), None
            )
            if inner is None:
                return self._word(node) if node.type in language.names else ""
            node = inner
        return self._word(node)

    def _word(self, node: Node) -> str:
        """Return the text of a name on one line, without quotes and spaces, which separate symbols."""
        name = self._data[node.start_byte : min(node.end_byte, node.start_byte + _NAME_BYTES)]
        text = name.decode("utf-8", "replace").replace("\0", "").strip("\"'` \n")
        return "_".join(text.split("\n", 1)[0].split())


def _last_line(node: Node) -> int:
    """Return the last line of a node; one that ends at the very start of a line does not reach into it."""
    row, column = node.end_point
    return row + 1 if column else max(row, node.start_point[0] + 1)
