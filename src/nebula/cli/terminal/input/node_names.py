"""Earlier turns and tags, as a prompt may refer to them: what Tab offers after an @ and after a #."""

from __future__ import annotations

import time
from collections.abc import Callable

from nebula.graph.errors import GraphError
from nebula.graph.graph import Graph
from nebula.value import value

MOST_NODES = 300
"""The newest ones; an older one can be named all the same."""
SHORTEST_ID = 4
"""A shorter word after an @ is not taken for an id."""
FRESH_S = 10.0


@value
class NodeName:
    id: str
    """Its shortest unique beginning."""
    prompt: str


class NodeNames:
    """A cached look at the graph. Called from the completion thread only."""

    def __init__(self, graph: Callable[[], Graph | None]) -> None:
        self._graph = graph
        self._nodes: tuple[NodeName, ...] = ()
        self._tags: tuple[tuple[str, int], ...] = ()
        self._looked = float("-inf")

    def matching(self, pattern: str, limit: int = 8) -> list[NodeName]:
        """Return the nodes whose id begins with these letters, or whose prompt holds them, newest first."""
        self._look()
        wanted = pattern.lower()
        found = (each for each in self._nodes if each.id.startswith(wanted) or wanted in each.prompt.lower())
        return [each for each, _ in zip(found, range(limit), strict=False)]

    def tags(self, pattern: str) -> list[tuple[str, int]]:
        """Return each tag with the number of nodes that have it, the most used first."""
        self._look()
        return [each for each in self._tags if each[0].lower().startswith(pattern.lower())]

    def _look(self) -> None:
        if time.monotonic() - self._looked < FRESH_S:
            return
        try:
            graph = self._graph()
            if graph is not None:
                nodes = graph.list_nodes(MOST_NODES)
                short = graph.shortest_unique_ids(node.id for node in nodes)
                lengths = {node_id: max(len(short[node_id]), SHORTEST_ID) for node_id in short}
                self._nodes = tuple(NodeName(node.id[: lengths[node.id]], node.prompt) for node in nodes)
                self._tags = tuple(sorted(graph.list_tags().items(), key=lambda tag: (-tag[1], tag[0])))
        except GraphError:
            pass  # completion is a convenience; the turn will say what is wrong
        self._looked = time.monotonic()
