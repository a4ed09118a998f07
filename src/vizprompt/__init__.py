"""The conversation graph under the names of its specification.

    from vizprompt import VizPrompt

    vp = VizPrompt(data_dir="/path/to/storage")
    node_id = vp.create_node(prompt="question", response="answer")
    nodes = vp.search_nodes(tags=["tag"], keywords=["word"], text="full text")
    vp.connect_nodes(source_id, target_id, branch_name="branch")

Needs no server and no model; `build_summary` asks one if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable

from nebula.graph.errors import BadFile, BadRequest, BadText, CycleError, GraphError, NotFound
from nebula.graph.graph import Graph
from nebula.graph.values import DEFAULT_FLOW, Connection, Flow, Node, Problem, Utterance

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
    "Problem",
    "Utterance",
    "VizPrompt",
]


class VizPrompt(Graph):
    """Everything that `Graph` offers; `create_node` returns the id."""

    def create_node(  # type: ignore[override]
        self,
        prompt: str,
        response: str = "",
        *,
        tags: Iterable[str] = (),
        model: str = "",
        summary: str = "",
        flow: str = DEFAULT_FLOW,
        parents: Iterable[str] = (),
        branch: str | None = None,
    ) -> str:
        """A new node in a flow (`main` is made when there is none), behind its parents if given; its id."""
        return (
            super()
            .create_node(
                prompt, response, tags=tags, model=model, summary=summary, flow=flow, parents=parents, branch=branch
            )
            .id
        )
