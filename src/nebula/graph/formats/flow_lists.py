"""The lists of a flow file that another program wrote, read by pattern where they are plain.

YAML takes 5 s for the lists of 100,000 turns. Here an item with its two keys in any order, in quotes or braces, costs a
twentieth. All other items together go to YAML, and so does the whole file where a list is not in plain sight.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from nebula.graph.errors import BadFile
from nebula.graph.formats.yaml_tree import Branch, last_line, load

KEYS = {"nodes": ("index", "id", "flow"), "connections": ("from", "to", "branch")}
BY_PLACE = "\0"
"""Stands for the number of a node that has none of its own."""
LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")

Span = tuple[int, int]


class Item(NamedTuple):
    """What an item says under the keys of its list, and where its lines are."""

    texts: tuple[str, str, str]
    span: Span


class PlainList(NamedTuple):
    start: int
    """Where the line of its key begins."""
    indent: str
    items: list[Item]


class Rest(NamedTuple):
    """What is left of a file without the items of its plain lists."""

    text: str
    offsets: list[int]
    """Where each line of it stands in the file."""
    lists: dict[str, PlainList]


_ODD = re.compile("[^\t\r\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|\r(?!\n)")
"""What YAML takes for the end of a line, or does not take."""
_EMPTY = r"(?: *(?:#[^\n]*)?\r?\n)*+"
_END = r" *(?: #[^\n]*)?(?:\r?\n|\Z)"
_KEY = re.compile(f"^(nodes|connections):{_END}", re.MULTILINE)
_BEHIND = re.compile(r"^(?! |#|- |\r?$)", re.MULTILINE)
_EMPTY_LINES = re.compile(_EMPTY)
_FIRST = re.compile(f"{_EMPTY}( *)- ")
_WORD = "[0-9a-zA-Z][0-9a-zA-Z-]*"
_TEXT = f" +((?!null\\b){_WORD}|\"{_WORD}\"|'{_WORD}')"


def take_lists(text: str) -> Rest | None:
    """Return a file as two plain lists and the rest of it; None where that cannot be seen."""
    keys = list(_KEY.finditer(text))
    names = [key[1] for key in keys]
    if not keys or len(set(names)) < len(names) or _ODD.search(text):
        return None
    lists: dict[str, PlainList] = {}
    pieces: list[Span] = []
    start = 0
    for key in keys:
        behind = _BEHIND.search(text, key.end())
        end = behind.start() if behind else len(text)
        found = _plain_list(text, key, end)
        if found is None:
            return None
        lists[key[1]] = found
        pieces.append((start, key.end()))
        start = end
    pieces.append((start, len(text)))
    starts, _ = lines_of(text, pieces)
    return Rest("".join(text[start:end] for start, end in pieces), [*starts, len(text), len(text)], lists)


def lines_of(text: str, pieces: list[Span]) -> tuple[list[int], list[int]]:
    """Return where the lines of some pieces begin, and where they end."""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in pieces:
        inside = [found.end() for found in LINE_BREAK.finditer(text, start, end)]
        if start < end and inside[-1:] != [end]:
            inside.append(end)
        starts += [start, *inside[:-1]] if inside else []
        ends += inside
    return starts, ends


def items_of(value: Branch, name: str, starts: list[int], ends: list[int]) -> list[Item]:
    """Return the items of a list as YAML reads it."""
    first, second, third = KEYS[name]
    default = BY_PLACE if name == "nodes" else ""
    items = []
    for item in value.items:
        if isinstance(item, Branch):
            texts = (item.text(first, default), item.text(second), item.text(third))
        else:
            texts = (default, item.text if default else "", "")
        items.append(Item(texts, (starts[item.line], ends[last_line(item)])))
    return items


def _plain_list(text: str, key: re.Match[str], end: int) -> PlainList | None:
    first = _FIRST.match(text, key.end(), end)
    if not first:
        return None
    name, indent = key[1], first[1]
    items = []
    others: list[Span] = []
    behind = key.end()
    for found in _pattern(indent, name).finditer(text, behind, end):
        if found.start() > behind:
            others.append((behind, found.start()))
        one, two = _GROUPS[found.lastindex or 0]
        items.append(Item((found[one].strip("\"'"), found[two].strip("\"'"), ""), found.span()))
        behind = found.end()
    others.append((behind, end))
    if others := [piece for piece in others if _content(text, piece) < piece[1]]:
        read = _read_others(text, others, name, len(indent))
        if read is None:
            return None
        items = sorted(items + read, key=lambda item: item.span)
    return PlainList(key.start(), indent, items)


_GROUPS = {3: (2, 3), 6: (6, 5), 8: (7, 8), 10: (10, 9)}
"""Which groups hold the first key and the second, by the last group of the form that was found."""


def _pattern(indent: str, name: str) -> re.Pattern[str]:
    """Return the pattern of an item with two keys and no more: in lines of their own or in braces, in either order."""
    one, two, _ = KEYS[name]
    lines = "{indent}-( +){0}:{text}{end}{indent} (?:\\{group}){1}:{text}{end}"
    braces = r"{indent}- +\{{ *{0}:{text} *, +{1}:{text} *\}}{end}"
    parts = {"indent": indent, "text": _TEXT, "end": _END}
    forms = (
        lines.format(one, two, group=1, **parts),
        lines.format(two, one, group=4, **parts),
        braces.format(one, two, **parts),
        braces.format(two, one, **parts),
    )
    no_more = f"(?!{_EMPTY}{indent} +[^ #\r\n])"
    return re.compile(f"^(?:{'|'.join(forms)}){no_more}", re.MULTILINE)


def _content(text: str, piece: Span) -> int:
    """Return where something else than comments and empty lines begins."""
    found = _EMPTY_LINES.match(text, *piece)
    return found.end() if found else piece[0]


def _read_others(text: str, pieces: list[Span], name: str, column: int) -> list[Item] | None:
    """Return the items in some pieces of a list; None where they are not items from end to end, and of this list: each
    piece begins with one, and so whatever stands before it has ended."""
    starts, ends = lines_of(text, pieces)
    try:
        value = load(f"{name}:\n" + "".join(text[start:end] for start, end in pieces), "").get(name)
    except BadFile:
        return None
    if not isinstance(value, Branch) or value.kind != "sequence" or value.flow_style or value.column != column:
        return None
    items = items_of(value, name, [0, *starts], [0, *ends])
    begun = {item.span[0] for item in items}
    return items if all(_content(text, piece) in begun for piece in pieces) else None
