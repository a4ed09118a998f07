"""The conversation graph under the names of its specification.

    from vizprompt import VizPrompt

    vp = VizPrompt(data_dir="/path/to/storage")
    node_id = vp.create_node(prompt="question", response="answer")
    nodes = vp.search_nodes(tags=["tag"], keywords=["word"], text="full text")
    vp.connect_nodes(source_id, target_id, branch_name="branch")
    page = export_part(vp, node_id, branch=True)

Needs no server and no model; `build_summary` asks one if there is one.
"""

from __future__ import annotations

import json
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
    "export_part",
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


def export_part(graph: Graph, part: str, *, branch: bool = False, form: str = "html", lang: str = "en") -> str:
    """Return a flow, a node or, with `branch`, all that leads to a node as one text to give away, keys marked in it.

    `form` is html, markdown or json; `lang` is the language of the words around the turns. Raises NebulaError where
    no flow and no node has that name."""
    from nebula.exchange.export.excerpt import choose_excerpt, redact_excerpt
    from nebula.exchange.export.markdown import write_markdown
    from nebula.exchange.export.page import write_page
    from nebula.messages.redaction import Redactor

    excerpt, _ = redact_excerpt(choose_excerpt(graph, part, branch=branch), Redactor())
    match form:
        case "html":
            return write_page(excerpt, lang)
        case "markdown":
            return write_markdown(excerpt)
        case "json":
            return json.dumps(excerpt.to_json(), ensure_ascii=False, indent=2) + "\n"
    raise BadRequest("{form} is none of html, markdown, json", form=form)
