"""`VizPromptManager` of seed §9.1: the same graph, handing out nodes instead of ids."""

from __future__ import annotations

from nebula.graph.graph import Graph

__all__ = ["VizPromptManager"]


class VizPromptManager(Graph):
    """A data folder; `create_node` answers with the node."""
