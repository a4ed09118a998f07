"""The values of the graph: nodes, flows and what they are made of.

All are frozen and equal when their content is equal. Timestamps stay the ISO 8601 strings of the files, so
that a value read and written again is the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nebula.attachments import Attachment
from nebula.language import Sentence
from nebula.value import value

DEFAULT_FLOW = "main"


@value
class Utterance:
    """One utterance of a node; `role` is `user`, `assistant` or `tool`."""

    role: str
    text: str
    count: int = 0
    """Tokens."""
    duration: float = 0.0
    """Seconds."""
    rate: float = 0.0
    """Tokens a second."""


@value
class NodeUsage:
    input: int = 0
    output: int = 0
    cost: float | None = None


@value
class FileState:
    """What a turn did to a file, by content hash; an empty `before` means created, an empty `after` deleted."""

    path: str
    before: str = ""
    after: str = ""
    wrote: str = ""
    """The lines that the turn put there, as `blame.line_record` writes them: runs of short hashes."""
    removed: str = ""
    """Hashes of lines that it took out."""


@value
class Node:
    """A prompt and its answer. `tags` is a list of its own for each reader.

    A new attribute is a field here, a line in `formats.node_xml.PARTS` and, if callers may set it, an argument of
    `Graph.add_turn`; JSON, the cache and edits in place follow from the fields.
    """

    id: str
    timestamp: str
    texts: tuple[Utterance, ...] = ()
    summary: str = ""
    tags: list[str] = ()  # type: ignore[assignment]
    model: str = ""
    updated: bool = False
    """Edited since the summary was built."""
    last_built: str = ""
    session: str = ""
    usage: NodeUsage | None = None
    files: tuple[FileState, ...] = ()
    references: tuple[str, ...] = ()
    """Earlier nodes by id, and tags as `#tag`, that the prompt named beside the path it continued."""
    attachments: tuple[Attachment, ...] = ()
    """What came with the prompt."""
    verified: bool = False
    """The turn's checks passed after its last change."""
    agent: str = ""
    """Another program whose turn this was, where its record was imported."""
    beginning: str = ""
    """Of a first prompt that was asked again, or otherwise: the id of the first try, under which they are siblings."""
    pinned: bool = False
    """Marked by a person, to be found again."""
    note: str = ""
    """What a person wrote beside it; no model gets to see it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tags", list(self.tags))

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def prompt(self) -> str:
        return self.said_by("user")

    @property
    def response(self) -> str:
        return self.said_by("assistant")

    @property
    def first_try(self) -> str:
        """The id under which all tries of this prompt are siblings, where it begins a conversation."""
        return self.beginning or self.id

    @property
    def due(self) -> bool:
        """True when the summary has to be built: edited since, or never built."""
        return self.updated or not self.summary

    def said_by(self, role: str) -> str:
        return "\n\n".join(text.text for text in self.texts if text.role == role)

    def to_json(self) -> dict[str, Any]:
        """Return the node as the WebSocket and `--json` show it: the fields of an agent's turn only where set."""
        shown = {"prompt": self.prompt, "response": self.response}
        for name in _field_names(self):
            held = getattr(self, name)
            if held or name not in _ADDITIONS:
                shown[name] = _plain(held)
        return shown

    @classmethod
    def from_row(cls, row: list[Any]) -> Node:
        """Return the node of its fields in their order: a search makes hundreds of nodes from what a cache holds."""
        for place, part in _PARTS.items():
            row[place] = part(row[place])
        return cls(*row)


_ADDITIONS = frozenset(Node.__match_args__[Node.__match_args__.index("session") :])
_PARTS: dict[int, Callable[[Any], Any]] = {
    Node.__match_args__.index(name): part
    for name, part in {
        "texts": lambda texts: tuple([Utterance(*text) for text in texts]),
        "usage": lambda usage: NodeUsage(*usage) if usage else None,
        "files": lambda files: tuple([FileState(*file) for file in files]),
        "references": tuple,
        "attachments": lambda records: tuple(map(Attachment.from_record, records)),
    }.items()
}
"""What makes a field from its part of a row, by its place."""


def _field_names(held: Any) -> tuple[str, ...]:
    return held.__match_args__  # type: ignore[no-any-return]


def _plain(held: Any) -> Any:
    if isinstance(held, str):
        return held
    if isinstance(held, (tuple, list)):
        return [_plain(each) for each in held]
    if isinstance(held, Attachment):
        return held.to_record()
    if isinstance(held, FileState):  # what it wrote is for `nebula blame`, not for those who show nodes
        return {name: getattr(held, name) for name in ("path", "before", "after")}
    if isinstance(held, (Utterance, NodeUsage)):
        return {name: getattr(held, name) for name in _field_names(held)}
    return held


def row_of(held: Any) -> Any:
    """Return a node, or a part of one that JSON has no form for, as `Node.from_row` takes it."""
    return held.to_record() if isinstance(held, Attachment) else [getattr(held, name) for name in _field_names(held)]


@value
class Connection:
    """An edge between two nodes, by id."""

    source: str
    target: str
    branch: str | None = None


@value
class FlowEntry:
    """A node's place in a flow: the number the file gives it, and its id."""

    index: int
    id: str
    flow: str = ""
    """The id of the flow in which it goes on from here: a sub-flow, which this one shows as a single node."""


@value
class Edge:
    """A connection as the file holds it, between entry numbers."""

    source: int
    target: int
    branch: str | None = None


@value
class Flow:
    """A named set of nodes and the connections between them.

    `entries` and `edges` are the file's own numbering (ids may repeat in a file written by hand); `nodes` and
    `connections` say the same by id.
    """

    id: str
    name: str
    created: str = ""
    updated: str = ""
    description: str = ""
    entries: tuple[FlowEntry, ...] = ()
    edges: tuple[Edge, ...] = ()
    archived: bool = False
    """Kept, but left out of lists until it is asked for."""

    @property
    def nodes(self) -> list[str]:
        return [entry.id for entry in self.entries]

    @property
    def connections(self) -> list[Connection]:
        id_of = {entry.index: entry.id for entry in self.entries}
        return [Connection(id_of[edge.source], id_of[edge.target], edge.branch) for edge in self.edges]

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "created": self.created,
            "updated": self.updated,
            "description": self.description,
            **({"archived": True} if self.archived else {}),
            "nodes": [
                {"index": entry.index, "id": entry.id, **({"flow": entry.flow} if entry.flow else {})}
                for entry in self.entries
            ],
            "connections": [
                {"source": c.source, "target": c.target, **({"branch": c.branch} if c.branch else {})}
                for c in self.connections
            ],
        }


@value
class Beginning:
    """How a conversation began."""

    timestamp: str
    first_try: str = ""
    """The id of its first prompt as it was asked first, where this one is a further try of it."""


@value
class Problem:
    """Something wrong in the store, found by `check` or met on the way."""

    kind: str
    """`unreadable`, `clash`, `conflict`, `index`, `cycle`, `dangling`, `edge`, `repeated`, `metadata`, `stray`."""
    path: str
    what: Sentence
    done: Sentence | None = None
    """What was done about it."""

    @property
    def message(self) -> str:
        return str(self.what)

    @property
    def repaired(self) -> str:
        return str(self.done or "")

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "path": self.path, "message": self.message, "repaired": self.repaired}


def several(words: Iterable[str] | None) -> list[str]:
    """One word given as a bare string is taken as that word, not as its letters."""
    return [words] if isinstance(words, str) else list(words or ())


def clean_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags without white space around or inside runs, each once, in order."""
    seen: dict[str, None] = {}
    for tag in several(tags):
        word = " ".join(tag.split())
        if word:
            seen.setdefault(word)
    return list(seen)
