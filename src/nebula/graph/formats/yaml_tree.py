"""YAML files of any shape, read as a small tree straight from the parser's events.

Each piece has its place in the file, and all scalars are the text they were written as. Aliases and deep nesting are
refused, since both can make a small file enormous. Loaded only when a file is not in the tool's own shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from nebula.graph.errors import BadFile
from nebula.language import Sentence
from nebula.value import field, record

MAX_DEPTH = 30


@record
class Leaf:
    text: str
    line: int
    end_line: int
    column: int
    end_column: int
    plain: bool = True


@record
class Branch:
    """A mapping (`keys` beside `items`) or a sequence (`items` only)."""

    kind: str
    line: int
    column: int
    flow_style: bool
    end_line: int = 0
    keys: list[Leaf] = field(default_factory=list)
    items: list[Leaf | Branch] = field(default_factory=list)

    def get(self, key: str) -> Leaf | Branch | None:
        if self.kind != "mapping":
            return None
        return next((item for name, item in zip(self.keys, self.items, strict=True) if name.text == key), None)

    def branch(self, key: str) -> Branch:
        """Return the mapping under a key; an empty one where there is none."""
        item = self.get(key)
        if isinstance(item, Branch) and item.kind == "mapping":
            return item
        return Branch("mapping", self.line, self.column, False)

    def text(self, key: str, default: str = "") -> str:
        item = self.get(key)
        if not isinstance(item, Leaf) or (item.plain and item.text in ("", "~", "null")):
            return default
        return item.text


def load(text: str, path: str) -> Branch:
    """Return the document as a tree; an empty one is an empty mapping. Raises BadFile."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = _compose(yaml.parse(text, Loader=loader), path)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or error
        raise BadFile(
            path, Sentence("not YAML: {problem} (line {line})", problem=problem, line=mark.line + 1 if mark else "?")
        ) from None
    if root is None or (isinstance(root, Leaf) and not root.text):
        return Branch("mapping", 0, 0, False)
    if not isinstance(root, Branch) or root.kind != "mapping":
        raise BadFile(path, Sentence("not a mapping"))
    return root


def last_line(item: Leaf | Branch) -> int:
    """Return the last line with something of the item on it: a block's own end mark lies behind later comments."""
    last = item.line
    pending: list[Leaf | Branch] = [item]
    while pending:
        piece = pending.pop()
        if isinstance(piece, Branch):
            pending += piece.items
            pending += piece.keys
            last = max(last, piece.end_line if piece.flow_style else piece.line)
        else:
            # A block scalar ends at the start of the line behind it.
            last = max(
                last, piece.end_line - 1 if piece.end_column == 0 < piece.end_line - piece.line else piece.end_line
            )
    return last


def _compose(events: Iterator[Any], path: str) -> Leaf | Branch | None:
    root: Leaf | Branch | None = None
    open_branches: list[Branch] = []
    for event in events:
        name = type(event).__name__
        if name == "AliasEvent":
            raise BadFile(path, Sentence("aliases are not allowed"))
        if name in ("SequenceEndEvent", "MappingEndEvent"):
            closed = open_branches.pop()
            closed.end_line = event.end_mark.line
            continue
        made: Leaf | Branch
        if name == "ScalarEvent":
            start, end = event.start_mark, event.end_mark
            made = Leaf(event.value, start.line, end.line, start.column, end.column, not event.style)
        elif name in ("SequenceStartEvent", "MappingStartEvent"):
            kind = "sequence" if name.startswith("S") else "mapping"
            made = Branch(kind, event.start_mark.line, event.start_mark.column, bool(event.flow_style))
        else:
            continue
        if open_branches:
            _attach(open_branches[-1], made, path)
        elif root is None:
            root = made
        else:
            raise BadFile(path, Sentence("more than one document"))
        if isinstance(made, Branch):
            open_branches.append(made)
            if len(open_branches) > MAX_DEPTH:
                raise BadFile(path, Sentence("nested deeper than {depth}", depth=MAX_DEPTH))
    return root


def _attach(parent: Branch, child: Leaf | Branch, path: str) -> None:
    if parent.kind == "mapping" and len(parent.keys) == len(parent.items):
        if not isinstance(child, Leaf):
            raise BadFile(path, Sentence("a key that is no text (line {line})", line=child.line + 1))
        parent.keys.append(child)
    else:
        parent.items.append(child)
