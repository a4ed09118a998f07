"""The conversation graph under the names of its specification.

from vizprompt import VizPrompt

vp = VizPrompt(data_dir="/path/to/storage")
node_id = vp.create_node(prompt="question", response="answer")
"""

from __future__ import annotations

from typing import Any

from nebula.graph.errors import BadFile, BadRequest, BadText, CycleError, GraphError, NotFound
from nebula.graph.manager import Graph
from nebula.graph.values import Connection, Flow, Node, Text

__all__ = [
    "BadFile",
    "BadRequest",
    "BadText",
    "Connection",
    "CycleError",
    "Flow",
    "GraphError",
    "Node",
    "NotFound",
    "Text",
    "VizPrompt",
]


class VizPrompt(Graph):
    """Everything `Graph` offers; `create_node` answers with the id, as seed §9.2 has it."""

    def create_node(self, prompt: str, response: str = "", **more: Any) -> str:  # type: ignore[override]
        return super().create_node(prompt, response, **more).id
