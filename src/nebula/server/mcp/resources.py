"""The resources for an MCP client: the project's files by address, and the turns of its conversation.

Files are read as `readFile` reads them. A turn may hold the content of any file, so a client whose roots narrow the
project gets none.
"""

from __future__ import annotations

import os
from typing import Any, Final
from urllib.parse import unquote

import mcp_types as types

from nebula.graph.graph import Graph
from nebula.graph.values import Node

FILES: Final = "nebula://files/"
TURNS: Final = "nebula://turns/"
MAX_TURNS: Final = 50
MAX_NAME: Final = 80

TEMPLATES: Final = [
    types.ResourceTemplate(
        name="file",
        uri_template=FILES + "{+path}",
        description="A text file of the project, by its path relative to the root.",
        mime_type="text/plain",
    ),
    types.ResourceTemplate(
        name="turn",
        uri_template=TURNS + "{id}",
        description="An earlier turn of the agent in this project: its prompt and its answer.",
        mime_type="text/markdown",
    ),
]


class KeptTurns:
    """The turns in the project's conversation graph; none where it has no graph."""

    def __init__(self, root: str) -> None:
        self._folder = os.path.join(root, ".nebula", "graph")

    def list_newest(self) -> list[types.Resource]:
        """Return the newest turns, newest first."""
        if not os.path.isdir(self._folder):
            return []
        with Graph(self._folder) as graph:
            return [_describe(node) for node in graph.list_nodes(MAX_TURNS)]

    def read(self, node_id: str) -> str:
        """Return one turn as Markdown. Raises GraphError."""
        with Graph(self._folder) as graph:
            node = graph.get_node(node_id)
        return f"# {node.timestamp}\n\n## Prompt\n\n{node.prompt}\n\n## Answer\n\n{node.response}\n"


def path_in(uri: str) -> str:
    """Return the path in the address of a file."""
    return unquote(uri.removeprefix(FILES))


def text_of_file(found: Any) -> str:
    """Return the result of `readFile` as one text; if it was cut, its last line says so."""
    cut = f"\n[{found['cut']}]" if "cut" in found else ""
    return str(found.get("content", "")) + cut


def _describe(node: Node) -> types.Resource:
    name = " ".join(node.prompt.split())[:MAX_NAME] or node.id
    return types.Resource(name=name, uri=TURNS + node.id, description=str(node.timestamp), mime_type="text/markdown")
