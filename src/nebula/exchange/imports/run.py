"""Putting the turns of others into the graph, each once, in few large steps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Final, cast

from nebula.exchange.imports.changed_files import file_states
from nebula.exchange.imports.contract import ELSEWHERE, ImportSource, RecordedConversation, SkipCounts
from nebula.exchange.imports.turns import ImportedTurn, gather_turns
from nebula.graph.flows.change import FlowChange, GraphChange
from nebula.graph.graph import Graph
from nebula.graph.ids import id_of_content, now
from nebula.graph.text_figures import measured
from nebula.graph.values import DEFAULT_FLOW, Connection, Node, NodeUsage, Utterance
from nebula.messages.redaction import REDACTED, Redactor
from nebula.value import field, record, replace

SOURCES: Final = ("claude", "codex", "gemini", "aider", "chatgpt", "markdown")
AT_A_TIME: Final = 1000
"""Nodes of one step: each step writes the flow once more."""
MOST_OF_TOOLS: Final = 100_000
"""Characters of a turn's tools that are kept."""


@record
class ImportReport:
    """Counts what came of an import."""

    flow: str
    added: int = 0
    known: int = 0
    marks: int = 0
    skipped: SkipCounts = field(default_factory=SkipCounts)


def open_source(name: str) -> ImportSource:
    """Return the source of that name, which is one of `SOURCES`; its module is loaded now."""
    return cast(ImportSource, import_module(f"nebula.exchange.imports.sources.{name}"))


def import_history(
    graph: Graph,
    source: ImportSource,
    places: Iterable[str],
    root: str,
    redactor: Redactor,
    *,
    only_here: bool = False,
    dry_run: bool = False,
) -> ImportReport:
    """Add the turns in these files to the flow that is named after the source. `only_here` leaves out sessions that
    took place in other directories; with `dry_run` everything is read and nothing written."""
    report = ImportReport(source.NAME)
    batch = _Batch(graph, report, dry_run)
    for place in places:
        for conversation in source.read(place, report.skipped):
            if only_here and not _is_here(conversation.folder, root):
                report.skipped[ELSEWHERE] += 1
                continue
            for turn in gather_turns(conversation, report.skipped):
                maker = _NodeMaker(source, conversation, root, redactor)
                batch.add(turn, maker)
    batch.write()
    return report


def _is_here(folder: str, root: str) -> bool:
    places = (root, os.path.realpath(root))
    return not folder or any(folder == each or folder.startswith(os.path.join(each, "")) for each in places)


class _Batch:
    """Nodes on their way into the graph."""

    def __init__(self, graph: Graph, report: ImportReport, dry_run: bool) -> None:
        self._graph = graph
        self._report = report
        self._dry_run = dry_run
        self._is_there = _known_ids(graph)
        self._met: set[str] = set()
        self._nodes: list[Node] = []
        self._connections: list[Connection] = []

    def add(self, turn: ImportedTurn, maker: _NodeMaker) -> None:
        node_id = maker.id_of(turn)
        if node_id in self._met:
            return
        self._met.add(node_id)
        if self._is_there(node_id):
            self._report.known += 1
            return
        node, marks = maker.make(turn)
        self._report.marks += marks
        self._report.added += 1
        self._nodes.append(node)
        if turn.before is not None:
            before = maker.id_of(turn.before)
            self._connections.append(Connection(before, node_id, maker.redactor.text(turn.branch) or None))
        if len(self._nodes) >= AT_A_TIME:
            self.write()

    def write(self) -> None:
        nodes, connections = self._nodes, self._connections
        self._nodes, self._connections = [], []
        if not nodes or self._dry_run:
            return
        for name in (DEFAULT_FLOW, self._report.flow):  # the page begins with the first, and offers a choice of two
            self._graph.create_flow(name)
        place = FlowChange(self._report.flow, add=tuple(node.id for node in nodes), connect=tuple(connections))
        self._graph.apply(GraphChange(create=tuple(nodes), flows=(place,)))


def _known_ids(graph: Graph) -> Callable[[str], bool]:
    """Return a function that tells whether a node is in the graph already."""
    if not os.path.isdir(graph.data_dir):
        return lambda _: False
    known = {node_id for flow in graph.list_flows() for node_id in flow.nodes}
    known.update(node.id for node in graph.list_nodes_outside())
    return known.__contains__


@record
class _NodeMaker:
    """Makes nodes of the turns of one conversation."""

    source: ImportSource
    conversation: RecordedConversation
    root: str
    redactor: Redactor

    def id_of(self, turn: ImportedTurn) -> str:
        """Return the id that this turn has in every import: of what the source calls it, and of nothing else."""
        return id_of_content(f"{self.source.AGENT}\0{turn.key}".encode("utf-8", "replace"))

    def make(self, turn: ImportedTurn) -> tuple[Node, int]:
        """Return the turn as a node, and how many keys were marked in it."""
        tools = _shorten([each.text for each in turn.messages if each.role == "tool" and each.text])
        answer = Utterance("assistant", turn.answer)
        said = [Utterance("user", turn.prompt.text), *(Utterance("tool", each) for each in tools), answer]
        texts = [replace(each, text=self.redactor.text(each.text)) for each in said]
        marks = sum(new.text.count(REDACTED) - old.text.count(REDACTED) for new, old in zip(texts, said, strict=True))
        time = turn.prompt.time or next((each.time for each in turn.messages if each.time), "") or now()
        edits = [edit for each in turn.messages for edit in each.edits]
        usage = NodeUsage(sum(m.input_tokens for m in turn.messages), sum(m.output_tokens for m in turn.messages))
        node = Node(
            id=self.id_of(turn),
            timestamp=time,
            texts=tuple(map(measured, texts)),
            model=self.redactor.text(next((each.model for each in turn.messages if each.model), "")),
            last_built=time,
            usage=usage if usage.input or usage.output else None,
            files=file_states(edits, self.root, self.conversation.folder, self._may_tell) if edits else (),
            agent=self.source.AGENT,
        )
        return node, marks

    def _may_tell(self, line: str) -> bool:
        return self.redactor.text(line) == line


def _shorten(tools: Sequence[str]) -> list[str]:
    """Return the texts of a turn's tools up to a limit."""
    kept, room = [], MOST_OF_TOOLS
    for text in tools:
        if room <= 0:
            break
        kept.append(text[:room])
        room -= len(text)
    return kept
