"""Making finished turns nodes of the conversation graph, and finding the way back to any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from nebula.agent.loop import NotKept
from nebula.agent.nodes import round_texts
from nebula.agent.session_nodes import SessionNode, SessionNodes
from nebula.agent.turn_result import TurnResult
from nebula.events import Status
from nebula.llm.catalog import cost
from nebula.memory.redaction import Redactor

if TYPE_CHECKING:
    from nebula.graph.graph import Graph
    from nebula.graph.values import Node
    from nebula.llm.choose import ChosenModel


class TurnArchive:
    """Keeps turns in a graph. The graph is loaded and opened when the first turn ends, not when a session starts."""

    def __init__(
        self,
        open_graph: Callable[[], Graph] | None,
        session_nodes: SessionNodes | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        self._open = open_graph
        self._session_nodes = session_nodes
        self._redactor = Redactor(secrets)
        self._graph: Graph | None = None

    @property
    def graph(self) -> Graph | None:
        if self._graph is None and self._open is not None:
            self._graph = self._open()
        return self._graph

    def for_turn(
        self, node_id: str, session_id: str, chosen: ChosenModel, parents: Sequence[str], flow: str | None = None
    ) -> Callable[[TurnResult, Status], str | None]:
        def keep(result: TurnResult, status: Status) -> str | None:
            nothing_said = not result.messages and not result.files
            if self._open is None or (nothing_said and status in ("error", "interrupted")):
                return None
            from nebula.graph.errors import GraphError

            try:
                self._add(node_id, session_id, chosen, parents, flow, result)
                if self._session_nodes is not None:
                    self._session_nodes.add(session_id, node_id, parents)
            except (GraphError, OSError) as problem:
                raise NotKept(f"This turn could not be put into the conversation graph: {problem}") from problem
            return node_id

        return keep

    def _add(
        self,
        node_id: str,
        session_id: str,
        chosen: ChosenModel,
        parents: Sequence[str],
        flow: str | None,
        result: TurnResult,
    ) -> None:
        from nebula.graph.values import DEFAULT_FLOW, FileState, Text, Usage

        usage = result.usage
        seconds = round(result.model_seconds, 3)
        rate = round(usage.output_tokens / seconds, 2) if seconds else 0.0
        clean = self._redactor.text
        texts = [
            Text("user", clean(result.prompt), usage.input_tokens),
            *(Text("tool", clean(text)) for text in round_texts(result)),
            Text("assistant", clean(result.answer), usage.output_tokens, seconds, rate),
        ]
        assert self.graph is not None  # noqa: S101 - the caller looked
        self.graph.add_turn(
            node_id=node_id,
            texts=texts,
            parents=parents,
            flow=flow or DEFAULT_FLOW,
            model=chosen.name,
            session=session_id,
            usage=Usage(usage.input_tokens, usage.output_tokens, cost(chosen.provider, chosen.name, usage)),
            files=[FileState(change.path, change.before, change.after) for change in result.files],
        )

    def path_to(self, node_ids: Sequence[str]) -> list[Node]:
        """The nodes that lead to these, oldest first, each once: shared ancestors are not repeated."""
        if self.graph is None:
            return []
        found: dict[str, Node] = {}
        for node_id in node_ids:
            for node in self.graph.get_history(node_id):
                found.setdefault(node.id, node)
        return sorted(found.values(), key=lambda node: node.timestamp)

    def known(self, node_ids: Sequence[str]) -> Sequence[str]:
        """The ids, once it is sure that each is a node."""
        if self.graph is not None:
            for node_id in node_ids:
                self.graph.get_node(node_id)
        return node_ids

    def session_nodes(self, session_id: str) -> list[SessionNode]:
        return self._session_nodes.read(session_id) if self._session_nodes is not None else []

    def find(self, node_id: str) -> Node | None:
        """The node, or None where there is none that can be read."""
        from nebula.graph.errors import GraphError

        if self.graph is None:
            return None
        try:
            return self.graph.get_node(node_id)
        except GraphError:
            return None
