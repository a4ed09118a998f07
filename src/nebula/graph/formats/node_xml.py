"""The node file of seed §4.1: written by template, read by expat with every door closed.

Reading accepts `<content>` for `<text>` and for `<contents>`, and ignores what it does not know. It also notes
where each element stands in the file, so that `node_edit` can change one and leave the rest of a hand-edited file
alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, NoReturn, get_args
from xml.parsers import expat

from nebula.attachments import Attachment, Kind
from nebula.graph.errors import BadFile, BadText
from nebula.graph.formats import xml_text
from nebula.graph.formats.git_conflicts import explain_conflict
from nebula.graph.values import FileState, Node, NodeUsage, Utterance
from nebula.language import Sentence

MAX_NODE_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 16

_KNOWN_ID = re.compile("[^\\s\x00-\x1f\ufffe\uffff]{1,200}")
_HEAD = re.compile(rb"<node\s([^<>]*)>")
_ATTRIBUTE = re.compile(rb"""(?<![\w.:-])([\w.:-]+)\s*=\s*["']([^"'&]*)["']""")
TEXT_PATHS = {("node", "contents", "text"), ("node", "contents", "content"), ("node", "content", "text")}


def dump_node(node: Node) -> bytes:
    """Return the file for a node. Raises BadText for what cannot be stored."""
    for name, value in (("the id", node.id), ("the timestamp", node.timestamp)):
        if not _KNOWN_ID.fullmatch(value):
            raise BadText("{name} {value} is empty, too long or holds white space", name=name, value=repr(value))
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<node id="{xml_text.attribute(node.id)}" timestamp="{xml_text.attribute(node.timestamp)}">',
        "<contents>",
        *(text_element(text) for text in node.texts),
        "</contents>",
        "<metadata>",
        *(element for part in PARTS if (element := part.write(node))),
        "</metadata>",
        "</node>",
        "",
    ]
    try:
        data = "\n".join(lines).encode("utf-8")
    except UnicodeEncodeError:
        _refuse_surrogates(node)
        raise
    if len(data) > MAX_NODE_BYTES:
        raise BadText("a node of {size} bytes is over the limit of {limit}", size=len(data), limit=MAX_NODE_BYTES)
    return data


def text_element(text: Utterance, more: str = "") -> str:
    figures = {"count": str(text.count), "duration": f"{text.duration:.2f}", "rate": f"{text.rate:.2f}"}
    return xml_text.block("text", xml_text.attributes(role=text.role, **figures) + more, text.text)


def _refuse_surrogates(node: Node) -> None:
    """Say which text it is that cannot be written."""
    for name, held in node.to_json().items():
        for what, text in _strings(name, held):
            xml_text.refuse_surrogates(text, f"the {what}")


def _strings(name: str, held: Any) -> Iterator[tuple[str, str]]:
    if isinstance(held, str):
        yield name, held
    elif isinstance(held, list):
        for each in held:
            yield from _strings(name, each)
    elif isinstance(held, dict):
        for key, each in held.items():
            yield from _strings(f"{held.get('role', name)} text" if key == "text" else f"{name} {key}", each)


class Element:
    """An element of interest: where it stands (bytes) and what it said."""

    __slots__ = ("attributes", "end", "path", "start", "text")

    def __init__(self, path: tuple[str, ...], attributes: dict[str, str], start: int) -> None:
        self.path = path
        self.attributes = attributes
        self.start = start
        self.end = -1
        self.text = ""


class NodeFile(NamedTuple):
    """A node and the places of its elements in the file it came from."""

    node: Node
    elements: list[Element]

    def first(self, *path: str) -> Element | None:
        return next((element for element in self.elements if element.path == path), None)


def load_node(data: bytes, path: str) -> Node:
    """Return the node in a file's bytes; `path` is only for the error."""
    return parse_node(data, path).node


def load_head(data: bytes) -> tuple[str, str] | None:
    """Id and timestamp from the first bytes of a node file, without reading the rest; None when they are not there."""
    found = _HEAD.search(data)
    attributes = dict(_ATTRIBUTE.findall(found[1])) if found else {}
    node_id = attributes.get(b"id", b"").decode("utf-8", "replace")
    if not _KNOWN_ID.fullmatch(node_id):
        return None
    return node_id, attributes.get(b"timestamp", b"").decode("utf-8", "replace")


def parse_node(data: bytes, path: str) -> NodeFile:
    if len(data) > MAX_NODE_BYTES:
        raise BadFile(path, Sentence("larger than {limit} bytes", limit=MAX_NODE_BYTES))
    reader = _Reader(data, path)
    try:
        reader.parser.Parse(data, True)
    except BadFile:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: an encoding that is none or unknown
        reason = Sentence("not a node file: {problem}", problem=error)
        raise BadFile(path, explain_conflict(data.decode("utf-8", "replace"), reason)) from None
    return NodeFile(_node_of(reader.elements, path), reader.elements)


class _Reader:
    """Collects the elements of a node file; only character data of leaves is kept."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data = data
        self.path = path
        self.elements: list[Element] = []
        self.open: list[Element] = []
        self.pieces: list[str] = []
        self.in_cdata = False
        self.had_cdata = False
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype
        self.parser.EntityDeclHandler = self.refuse_doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.StartCdataSectionHandler = self.start_cdata
        self.parser.EndCdataSectionHandler = self.end_cdata

    def refuse_doctype(self, *_: object) -> NoReturn:
        raise BadFile(self.path, Sentence("document types and entities are not allowed"))

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise BadFile(self.path, Sentence("nested deeper than {depth}", depth=MAX_DEPTH))
        path = (*self.open[-1].path, name) if self.open else (name,)
        element = Element(path, xml_text.plain_attributes(attributes), self.parser.CurrentByteIndex)
        self.open.append(element)
        self.elements.append(element)
        self.pieces, self.had_cdata = [], False

    def end(self, _name: str) -> None:
        element = self.open.pop()
        element.end = self._end_of(element)
        text = "".join(self.pieces)
        if self.had_cdata:
            text = xml_text.unwrap(text)
        if element.attributes.get("escaped") == "true":
            text = xml_text.unescape(text)
        element.text = text
        self.pieces, self.had_cdata = [], False

    def _end_of(self, element: Element) -> int:
        place = self.parser.CurrentByteIndex
        if element is self.elements[-1] and self.data.endswith(b"/>", element.start, place):
            # For `<tags/>` the parser stands behind the element already.
            return place
        return self.data.index(b">", place) + 1

    def start_cdata(self) -> None:
        if not self.had_cdata:
            # Indentation before the first section is an editor's, not the text's; CR is ours.
            self.pieces = [piece for piece in self.pieces if piece.strip(" \t\n")]
        self.in_cdata = self.had_cdata = True

    def end_cdata(self) -> None:
        self.in_cdata = False

    def characters(self, text: str) -> None:
        if self.in_cdata or not self.had_cdata or text.strip(" \t\n"):
            self.pieces.append(text)


def _node_of(elements: list[Element], path: str) -> Node:
    root = elements[0]
    if root.path != ("node",):
        raise BadFile(path, Sentence("the root element is <{name}>, not <node>", name=root.path[0]))
    node_id = root.attributes.get("id", "")
    if not _KNOWN_ID.fullmatch(node_id):
        raise BadFile(path, Sentence("the node has no usable id"))
    by_path: dict[tuple[str, ...], list[Element]] = {}
    for element in elements:
        by_path.setdefault(element.path, []).append(element)
    fields: dict[str, Any] = {}
    for part in PARTS:
        fields |= part.read(by_path)
    return Node(
        id=node_id,
        timestamp=root.attributes.get("timestamp", ""),
        texts=tuple(_text_of(element) for element in elements if element.path in TEXT_PATHS),
        **fields,
    )


def _text_of(element: Element) -> Utterance:
    attributes = element.attributes
    return Utterance(
        role=attributes.get("role", ""),
        text=element.text,
        count=int(_number(attributes.get("count", ""))),
        duration=_number(attributes.get("duration", "")),
        rate=_number(attributes.get("rate", "")),
    )


def _number(text: str) -> float:
    """Return a figure from a file anyone may have edited: what is no finite number counts as unknown."""
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if -1e15 < number < 1e15 else 0.0


# The elements of <metadata>, each with the fields it holds

_Elements = dict[tuple[str, ...], list[Element]]


class MetadataPart(NamedTuple):
    """One element of `<metadata>`: `write` gives its text, empty where there is nothing to say; `read` its fields."""

    name: str
    fields: tuple[str, ...]
    write: Callable[[Node], str]
    read: Callable[[_Elements], dict[str, Any]]


def _find(elements: _Elements, *path: str) -> list[Element]:
    return elements.get(("node", "metadata", *path), [])


def _line(name: str, *, always: bool = False) -> MetadataPart:
    """Return a field that is one short text."""

    def write(node: Node) -> str:
        text = getattr(node, name)
        return xml_text.inline(name, text) if text or always else ""

    def read(elements: _Elements) -> dict[str, Any]:
        found = _find(elements, name)
        return {name: found[0].text.strip()} if found else {}

    return MetadataPart(name, (name,), write, read)


def _lines(name: str, item: str, kind: Callable[[Iterable[str]], Any], *, always: bool = False) -> MetadataPart:
    """Return a field that is a list of short texts."""

    def write(node: Node) -> str:
        return _listed(name, [xml_text.inline(item, text) for text in getattr(node, name)], always=always)

    def read(elements: _Elements) -> dict[str, Any]:
        return {name: kind(text for element in _find(elements, name, item) if (text := element.text.strip()))}

    return MetadataPart(name, (name,), write, read)


def _listed(name: str, items: list[str], *, always: bool = False) -> str:
    if not items:
        return f"<{name}/>" if always else ""
    return "\n".join([f"<{name}>", *items, f"</{name}>"])


def _write_summary(node: Node) -> str:
    attributes = xml_text.attributes(updated=str(node.updated).lower(), last_built=node.last_built)
    return xml_text.block("summary", attributes, node.summary)


def _read_summary(elements: _Elements) -> dict[str, Any]:
    for found in _find(elements, "summary"):
        get = found.attributes.get
        return {"summary": found.text, "updated": get("updated") == "true", "last_built": get("last_built", "")}
    return {}


def _write_usage(node: Node) -> str:
    if not node.usage:
        return ""
    cost = "" if node.usage.cost is None else f"{node.usage.cost:.6f}"
    return f'<usage input="{node.usage.input}" output="{node.usage.output}" cost="{cost}"/>'


def _read_usage(elements: _Elements) -> dict[str, Any]:
    for found in _find(elements, "usage"):
        get = found.attributes.get
        cost = get("cost", "")
        counts = int(_number(get("input", ""))), int(_number(get("output", "")))
        return {"usage": NodeUsage(*counts, _number(cost) if cost else None)}
    return {}


def _write_file(file: FileState) -> str:
    path, escaped = xml_text.escape_impossible(file.path)
    mark = ' escaped="true"' if escaped else ""
    (before, before_mode), (after, after_mode) = _split_mode(file.before), _split_mode(file.after)
    more = {"before_mode": before_mode, "after_mode": after_mode, "wrote": file.wrote, "removed": file.removed}
    told = {name: text for name, text in more.items() if text}
    return f"<file{xml_text.attributes(path=path, before=before, after=after, **told)}{mark}/>"


def _split_mode(state: str) -> tuple[str, str]:
    """Return the hash of a file's content and its mode, which a state may name behind it; other kinds as they are."""
    content, _, mode = state.partition(":")
    return (state, "") if content in ("link", "folder") else (content, mode)


def _read_file(element: Element) -> FileState:
    get = element.attributes.get
    path = get("path", "")
    if get("escaped") == "true":
        path = xml_text.unescape(path)
    before, after = (":".join(filter(None, (get(name), get(f"{name}_mode")))) for name in ("before", "after"))
    return FileState(path, before, after, get("wrote", ""), get("removed", ""))


def _flag(name: str) -> MetadataPart:
    """Return a field that is true or, as mostly, not there."""

    def read(elements: _Elements) -> dict[str, Any]:
        return {name: any(found.text.strip() == "true" for found in _find(elements, name))}

    return MetadataPart(name, (name,), lambda node: f"<{name}>true</{name}>" if getattr(node, name) else "", read)


def _write_note(node: Node) -> str:
    return xml_text.block("note", "", node.note) if node.note else ""


def _read_note(elements: _Elements) -> dict[str, Any]:
    found = _find(elements, "note")
    return {"note": found[0].text} if found else {}


def _write_attachment(each: Attachment) -> str:
    more = {"format": each.format} if each.format else {}
    attributes = xml_text.attributes(name=each.name, kind=each.kind, size=str(each.size), **more)
    return xml_text.block("attachment", attributes, each.text)


def _read_attachment(element: Element) -> Attachment:
    get = element.attributes.get
    kind = get("kind", "")
    known: Kind = kind if kind in get_args(Kind) else "file"  # type: ignore[assignment]
    return Attachment(get("name", ""), known, int(_number(get("size", ""))), element.text, get("format", ""))


PARTS = (
    _line("model", always=True),
    MetadataPart("summary", ("summary", "updated", "last_built"), _write_summary, _read_summary),
    _lines("tags", "tag", list, always=True),
    _line("session"),
    MetadataPart("usage", ("usage",), _write_usage, _read_usage),
    MetadataPart(
        "files",
        ("files",),
        lambda node: _listed("files", list(map(_write_file, node.files))),
        lambda elements: {"files": tuple(map(_read_file, _find(elements, "files", "file")))},
    ),
    _lines("references", "reference", tuple),
    MetadataPart(
        "attachments",
        ("attachments",),
        lambda node: _listed("attachments", list(map(_write_attachment, node.attachments))),
        lambda elements: {"attachments": tuple(map(_read_attachment, _find(elements, "attachments", "attachment")))},
    ),
    _flag("verified"),
    _line("agent"),
    _line("beginning"),
    _flag("pinned"),
    MetadataPart("note", ("note",), _write_note, _read_note),
)
"""In the order in which they are written."""
