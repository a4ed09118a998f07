"""The flow file of seed §5.1: written in one fixed shape, read in any shape YAML allows.

A file in the tool's own shape is read by pattern, thirty times faster than YAML; anything else (comments, other
order, other quoting) goes through the YAML parser, which keeps the places of the parts, so that `flow_edit` can change
lines and leave the rest of the file as its author wrote it.
"""

from __future__ import annotations

import json
import re

from nebula.graph.errors import BadFile, BadText
from nebula.graph.formats import yaml_text
from nebula.graph.formats.git_conflicts import explain_conflict
from nebula.graph.formats.xml_text import refuse_surrogates
from nebula.graph.values import Edge, Flow, FlowEntry
from nebula.language import Sentence
from nebula.value import field, value

MAX_FLOW_BYTES = 256 * 1024 * 1024
FIELDS = ("id", "name", "created", "updated", "description")
ARCHIVED = "archived"

_ENTRY = re.compile(
    r"^  - index: (\d{1,9})\n    id: ([0-9a-zA-Z-]+)\n(?:    flow: ([0-9a-zA-Z-]+)\n)?", re.ASCII | re.MULTILINE
)
_EDGE = re.compile(r"^  - from: (\d{1,9})\n    to: (\d{1,9})\n(?:    branch: ([^\n]+)\n)?", re.ASCII | re.MULTILINE)
_HEAD = r"""id:\ (?P<id>[0-9a-zA-Z-]+)\n
    name:\ (?P<name>[^\n]+)\n
    created:\ (?P<created>[^\n]+)\n
    updated:\ (?P<updated>[^\n]+)\n
    description:\ (?P<description>[^\n]+)\n
    (?:archived:\ (?P<archived>true)\n)?
    """
_OWN_HEAD = re.compile(_HEAD + "(?=nodes:)", re.ASCII | re.VERBOSE)
_CLAIM = re.compile(r"^((id|name)[ \t]*:.+)$", re.MULTILINE)

Span = tuple[int, int]


@value
class Section:
    """A list of the file: its place from the key on, and from there that of each item with lines of its own."""

    start: int
    end: int
    by_line: bool
    """Items stand on lines of their own, so lines can be added and taken away."""
    indent: str = "  "
    items: list[Span] = field(default_factory=list)


@value
class FlowFile:
    """A flow, the text it came from, and where its parts are in that text, unless it is all of the tool's writing."""

    flow: Flow
    text: str
    fields: dict[str, Span] = field(default_factory=dict)
    nodes: Section | None = None
    connections: Section | None = None
    own_shape: bool = False
    remarks: tuple[Sentence, ...] = ()
    """What in the file made no sense and was passed over."""
    passed_over: tuple[Span, ...] = ()
    """Where that stands; empty when it cannot be cut out by lines."""


def refuse_bad_text(flow: Flow) -> None:
    """Raise BadText when name or description cannot be stored."""
    for what, text in (("the flow's name", flow.name), ("the description", flow.description)):
        refuse_surrogates(text, what)
    if not flow.name.strip():
        raise BadText("a flow needs a name")


def dump_flow(flow: Flow) -> str:
    return _head(flow) + nodes_section(flow.entries) + connections_section(flow.edges)


def dump_longer(file: FlowFile, flow: Flow) -> str | None:
    """Return the text of a file in the tool's own shape with what its flow has gained at the ends of both lists, and
    another head; None where more than that changed. All lines of 100,000 turns take 80 ms, the last ones none."""
    nodes, edges = file.flow.entries, file.flow.edges
    head = _OWN_HEAD.match(file.text)
    if not (head and nodes and edges and flow.entries[: len(nodes)] == nodes and flow.edges[: len(edges)] == edges):
        return None
    start, middle = head.end(), file.text.rindex("\nconnections:\n") + 1
    more_nodes = "".join(map(entry_lines, flow.entries[len(nodes) :]))
    more_edges = "".join(map(edge_lines, flow.edges[len(edges) :]))
    return "".join((_head(flow), file.text[start:middle], more_nodes, file.text[middle:], more_edges))


def _head(flow: Flow) -> str:
    refuse_bad_text(flow)
    head = [f"{field}: {field_text(flow, field)}\n" for field in FIELDS]
    return "".join(head) + (f"{ARCHIVED}: true\n" if flow.archived else "")


def field_text(flow: Flow, field: str) -> str:
    if field == ARCHIVED:
        return "true" if flow.archived else "false"
    text: str = getattr(flow, field)
    if field == "id":
        return yaml_text.identifier(text)
    return yaml_text.moment(text) if field in ("created", "updated") else yaml_text.scalar(text)


def nodes_section(entries: tuple[FlowEntry, ...]) -> str:
    return "nodes:\n" + "".join(map(entry_lines, entries)) if entries else "nodes: []\n"


def connections_section(edges: tuple[Edge, ...]) -> str:
    return "connections:\n" + "".join(map(edge_lines, edges)) if edges else "connections: []\n"


def entry_lines(entry: FlowEntry, indent: str = "  ") -> str:
    lines = f"{indent}- index: {entry.index}\n{indent}  id: {yaml_text.identifier(entry.id)}\n"
    return lines + f"{indent}  flow: {yaml_text.identifier(entry.flow)}\n" if entry.flow else lines


def edge_lines(edge: Edge, indent: str = "  ") -> str:
    lines = f"{indent}- from: {edge.source}\n{indent}  to: {edge.target}\n"
    return lines + f"{indent}  branch: {yaml_text.scalar(edge.branch)}\n" if edge.branch else lines


def load_flow(data: bytes, path: str) -> FlowFile:
    """Return the flow in a file's bytes; `path` is only for the error."""
    if len(data) > MAX_FLOW_BYTES:
        raise BadFile(path, Sentence("larger than {limit} bytes", limit=MAX_FLOW_BYTES))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadFile(path, Sentence("not UTF-8 (byte {byte})", byte=error.start)) from None
    own = _read_own_shape(text)
    if own is not None:
        return own
    from nebula.graph.formats.flow_tree import read_any_shape

    try:
        return read_any_shape(text, path)
    except BadFile as error:
        raise BadFile(path, explain_conflict(text, error.reason)) from None


def read_claims(head: str) -> set[tuple[str, str]]:
    """Return what the beginning of a broken file still says of which flow it is: ids and names, each where YAML makes
    sense of its line alone. In a merge conflict there are several."""
    from nebula.graph.formats.yaml_tree import load

    claims = set()
    for line, key in _CLAIM.findall(head):
        try:
            said = load(line, "").text(key)
        except BadFile:
            continue
        if said:
            claims.add((key, said))
    return claims


def _read_own_shape(text: str) -> FlowFile | None:
    head = _OWN_HEAD.match(text)
    if not head:
        return None
    start, middle = head.end(), text.rfind("\nconnections:") + 1
    try:
        nodes = _items(_ENTRY, "nodes:", text, start, middle)
        connections = _items(_EDGE, "connections:", text, middle, len(text))
        entries = tuple(FlowEntry(int(index), node, flow) for index, node, flow in nodes)
        edges = tuple(
            Edge(int(source), int(target), _plain_or_json(branch) if branch else None)
            for source, target, branch in connections
        )
        flow = _flow_of(head, entries, edges)
    except ValueError:
        return None
    numbers = {entry.index for entry in flow.entries}
    pairs = {(edge.source, edge.target) for edge in flow.edges}
    if len(numbers) < len(flow.entries) or len(pairs) < len(flow.edges):
        return None
    if any(source not in numbers or target not in numbers for source, target in pairs):
        return None
    return FlowFile(flow, text, own_shape=True)


def _items(pattern: re.Pattern[str], key: str, text: str, start: int, end: int) -> list[tuple[str, str, str]]:
    """Return the items of a section of the tool's own writing; ValueError where anything else stands in it. An item has
    two lines, or three: whether all lines are theirs is seen by counting them."""
    if text.startswith(f"{key} []\n", start) and end == start + len(key) + 4:
        return []
    found = pattern.findall(text, start, end)
    lines = 1 + 2 * len(found) + sum(1 for _, _, more in found if more)
    if (
        not found
        or not text.startswith(f"{key}\n", start)
        or text.count("\n", start, end) != lines
        or text[end - 1] != "\n"
    ):
        raise ValueError(key)
    return found


def _flow_of(found: re.Match[str], entries: tuple[FlowEntry, ...], edges: tuple[Edge, ...]) -> Flow:
    flow_id, name, created, updated, description = (_plain_or_json(found[field]) for field in FIELDS)
    return Flow(flow_id, name, created, updated, description, entries, edges, found[ARCHIVED] is not None)


def _plain_or_json(text: str) -> str:
    """Return a scalar of the tool's own writing; ValueError for any other."""
    if text.startswith('"'):
        decoded = json.loads(text)
        if isinstance(decoded, str):
            return decoded
    elif text == yaml_text.scalar(text) or text in (yaml_text.moment(text), yaml_text.identifier(text)):
        return text
    raise ValueError(text)
