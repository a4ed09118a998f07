"""Make finished turns nodes of the conversation graph, and find the path to any of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from nebula.agent.recording.nodes import kept_with_node, round_text
from nebula.agent.turn_result import TurnResult
from nebula.events import Diff, Final, Stamped, TurnNotKept
from nebula.graph.errors import AmbiguousId, GraphError, NotFound
from nebula.language import Sentence, explain_failure
from nebula.messages.redaction import Redactor
from nebula.value import field, record, replace, value
from nebula.workspace.contract import Workspace

if TYPE_CHECKING:
    from nebula.graph.graph import Graph
    from nebula.graph.values import FileState, Node


@value
class SessionNode:
    """A node that a session made, and its parents, by id."""

    node_id: str
    parents: str

    def to_line(self) -> str:
        return f"{self.node_id} {self.parents}\n"


class SessionNodes:
    """The nodes that each session made, in order: one small local file a session, outside git, which can be deleted."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def read(self, session_id: str) -> list[SessionNode]:
        try:
            with open(os.path.join(self._folder, session_id), encoding="ascii") as file:
                lines = file.read().split("\n")
        except (OSError, UnicodeDecodeError):
            return []
        # A line without its line break was cut off by a crash.
        return [SessionNode(*(line.split(" ", 1) if " " in line else (line, ""))) for line in lines[:-1]]

    def open_to_add(self, session_id: str) -> TextIO:
        """Return the file of a session, open for one more line."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        return open(os.path.join(self._folder, session_id), "a", encoding="ascii")


SHORTEST_BEGINNING = 4
"""How many characters of an id may stand for it."""
_LOOK_AT = 20
"""How many nodes are checked for files that cannot be read; `vizprompt check` checks all."""

FlowChoice = str | Callable[[], str]
"""A flow by id or name, or a function that makes it once a turn is to be added."""


class TurnArchive:
    """Keeps turns in a graph, which is loaded and opened when the first turn ends, not when a session starts."""

    def __init__(
        self, open_graph: Callable[[], Graph] | None, made: SessionNodes | None = None, *, read_only: bool = False
    ) -> None:
        self._open = open_graph
        self._read_only = read_only
        self.made = made
        """The nodes that each session made, where that is recorded."""
        self._graph: Graph | None = None
        self._was_there = False
        """The graph existed before this run."""

    @property
    def graph(self) -> Graph | None:
        if self._graph is None and self._open is not None:
            self._graph = self._open()
            self._was_there = os.path.isdir(self._graph.data_dir)
            if os.path.exists(os.path.join(self._graph.data_dir, ".state/merged")):
                self._separate_merged(self._graph)
        return self._graph

    def _separate_merged(self, graph: Graph) -> None:
        """Separate the nodes that a merge, perhaps somebody else's, left in one file."""
        if not self._read_only:
            from nebula.graph.merging import settle_merge

            settle_merge(graph)

    def close(self) -> None:
        """Close the graph if it was opened here; the next use opens it again."""
        if self._graph is not None:
            self._graph.close()

    @property
    def keeps_turns(self) -> bool:
        return self._open is not None and not self._read_only

    def path_to(self, node_ids: Sequence[str], flow: str | None = None) -> list[Node]:
        """Return the nodes that lead to these and the nodes themselves, oldest first; a shared ancestor comes once."""
        if self.graph is None:
            return []
        from nebula.graph.context.path import path_to

        nodes = {node_id: self.graph.get_node(node_id) for node_id in node_ids}

        def find(node_id: str) -> Node | None:
            if node_id not in nodes and (node := self.find(node_id)):
                nodes[node_id] = node
            return nodes.get(node_id)

        def time_of(node_id: str) -> str:
            return node.timestamp if (node := find(node_id)) else ""

        return [node for each in path_to(self.graph, node_ids, time_of, flow) if (node := find(each))]

    def known(self, node_ids: Sequence[str]) -> Sequence[str]:
        """Return the whole ids, after checking that each is a node; a unique beginning stands for an id."""
        if not node_ids:
            return ()  # without opening the graph, for which a first request must not wait
        return [self.graph.resolve_id(each) for each in node_ids] if self.graph is not None else node_ids

    def still_here(self, node_ids: Sequence[str]) -> list[str]:
        """Return the ids that are nodes now: in a shared conversation a switch of branches in git can remove some."""
        found: list[str] = []
        for node_id in node_ids:
            with suppress(NotFound):
                found.extend(self.known([node_id]))
        return found

    def unreadable(self) -> Sentence | None:
        """Return one sentence about the files of the graph that cannot be read, as far as a short check finds them."""
        if self._graph is None or not self._was_there:
            return None
        found = self._graph.unreadable(_LOOK_AT)
        if found:
            self._separate_merged(self._graph)
            found = self._graph.unreadable(_LOOK_AT)
        if not found:
            return None
        first = Sentence("{path} ({problem})", path=found[0].path, problem=found[0].what)
        if len(found) == 1:
            return Sentence("Left out of the conversation graph: {file}", file=first)
        return Sentence(
            "Left out of the conversation graph: {file} and {count} more; all of them: {command}",
            file=first,
            count=len(found) - 1,
            command=f"vizprompt --data-dir {os.path.relpath(self._graph.data_dir)} check",
        )

    def session_nodes(self, session_id: str) -> list[SessionNode]:
        return self.made.read(session_id) if self.made is not None else []

    def find(self, node_id: str) -> Node | None:
        """Return the node; None where there is none that can be read."""
        if self.graph is None:
            return None
        try:
            return self.graph.get_node(node_id)
        except GraphError:
            return None

    def find_by_beginning(self, node_id: str) -> Node | None:
        """Return the node with this id, or the only one whose id begins with it. Raises AmbiguousId."""
        found = self.find(node_id)
        if found is not None or self.graph is None or len(node_id) < SHORTEST_BEGINNING:
            return found
        try:
            return self.find(self.graph.resolve_id(node_id))
        except AmbiguousId:
            raise
        except NotFound:
            return None


@record
class NodeWriter:
    """Reads the events of one turn and makes it a node at its `Final`, before any other reader gets that. Raises
    TurnNotKept where it cannot; it ignores a `Final` without a node id."""

    archive: TurnArchive
    session_id: str
    flow: FlowChoice | None = None
    branch: str | None = None
    workspace: Workspace | None = None
    """Its journal has the lines that the turn wrote."""
    redactor: Redactor = field(default_factory=Redactor)
    files: Callable[[], Sequence[FileState]] | None = None
    """Returns the changes of the turn's files, where its events do not hold them, as for a try."""
    beginning: str = ""
    """The first try of the prompt, where the prompt begins a conversation again."""
    _turn: TurnResult = field(default_factory=TurnResult)
    _changes: list[Diff] = field(default_factory=list)

    def __call__(self, stamped: Stamped) -> None:
        self._turn(stamped)
        event = stamped.event
        if isinstance(event, Diff):
            self._changes.append(replace(event, diff=""))
        if not isinstance(event, Final) or event.node_id is None or self.archive.graph is None:
            return
        from nebula.graph.values import DEFAULT_FLOW, NodeUsage, Utterance

        turn, usage = self._turn, self._turn.usage
        try:
            parents = self.archive.still_here(turn.parents)
            self.archive.graph.add_turn(
                node_id=event.node_id,
                texts=[
                    Utterance("user", turn.prompt, rate=turn.reading_rate),
                    *(Utterance("tool", round_text(each), duration=each.seconds) for each in turn.rounds),
                    Utterance("assistant", turn.answer, duration=turn.answer_seconds),
                ],
                parents=parents,
                references=turn.references,
                flow=(self.flow() if callable(self.flow) else self.flow) or DEFAULT_FLOW,
                branch=self.branch,
                model=turn.model,
                session=self.session_id,
                usage=NodeUsage(usage.input_tokens, usage.output_tokens, turn.cost),
                files=self._files(),
                attachments=kept_with_node(turn.attachments),
                verified=bool(event.checks) and all(check.passed for check in event.checks),
                beginning=self.beginning,
            )
            if self.archive.made is not None:
                with self.archive.made.open_to_add(self.session_id) as file:
                    file.write(SessionNode(event.node_id, ",".join(parents)).to_line())
        except (GraphError, OSError) as problem:
            raise TurnNotKept(
                "This turn could not be put into the conversation graph: {problem}",
                problem=explain_failure(problem) if isinstance(problem, OSError) else problem,
            ) from problem

    def _files(self) -> Sequence[FileState]:
        if self.files is None and not self._changes:
            return ()
        from nebula.agent.recording.file_states import file_states, seal_files

        if self.files is not None:
            found = self.files()
        else:
            found = file_states(self._turn.files, self._changes, self.workspace, self.redactor)
        return seal_files(found, self.workspace)
