"""How nodes and flows look in a terminal, as one line, in full, and as JSON.

`nebula.stage` is imported where text is shown: a third of the start-up of commands that show none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nebula.cli.printing import print_line
from nebula.language import explain, translate

if TYPE_CHECKING:
    from nebula.graph.graph import Graph
    from nebula.graph.values import Flow, Node

COLUMNS = 100


def split_list(text: str | None) -> list[str]:
    """`a,b` as a list; Japanese commas do as well."""
    return [part.strip() for part in re.split(r"[,，、]", text or "") if part.strip()]


def node_line(node: Node, columns: int = COLUMNS, shown_id: str = "") -> str:
    """Id, time, what it is about, tags."""
    from nebula.cli.terminal.output.width import cut
    from nebula.stage import one_line

    about = one_line(" ".join((node.summary or node.prompt).split()))
    tags = one_line(" ".join("#" + tag for tag in node.tags))
    return f"{one_line(shown_id or node.id)}  {node.timestamp[:16]}  {cut(about, columns)}{'  ' + tags if tags else ''}"


def shown_ids(graph: Graph, node_ids: Sequence[str]) -> Mapping[str, str]:
    """For people the shortest beginning that stands for a node alone; for programs behind a pipe the whole id."""
    return graph.shortest_unique_ids(node_ids) if sys.stdout.isatty() else {each: each for each in node_ids}


def show_node(node: Node) -> None:
    from nebula.stage import one_line

    head = f"{one_line(node.id)}  {node.timestamp}" + (f"  {one_line(node.model)}" if node.model else "")
    print_line(head)
    print_line("-" * len(head))
    for text in node.texts:
        print_line(f"[{text.role}]")
        print_line(text.text)
        print_line()
    if node.summary:
        print_line(f"{translate('summary (edited since)') if node.updated else translate('summary')}: {node.summary}")
    if node.tags:
        print_line(translate("tags") + ": " + ", ".join(one_line(tag) for tag in node.tags))
    for file in node.files:
        print_line(f"{translate('file')}: {one_line(file.path)}")


def flow_lines(flows: Sequence[Flow]) -> list[str]:
    """Numbered as `flow show NUMBER` takes them."""
    from nebula.stage import one_line

    width = len(str(len(flows)))
    return [
        f"{number:{width}}. {flow.updated}  {flow.id}  {one_line(flow.name)} ({len(flow.entries)})"
        for number, flow in enumerate(flows, 1)
    ]


def find_flow(graph: Graph, wanted: str) -> Flow:
    """By name or id and, as the original has it, by its number in `flow list`. Raises NotFound."""
    from nebula.graph.errors import NotFound

    try:
        return graph.get_flow(wanted)
    except NotFound:
        flows = graph.list_flows() if wanted.isdecimal() else []
        if 1 <= int(wanted if flows else 0) <= len(flows):
            return flows[int(wanted) - 1]
        raise


def legend(graph: Graph, flow: Flow) -> list[str]:
    """What the numbers of a map stand for."""
    from nebula.graph.errors import GraphError
    from nebula.stage import one_line

    width = len(str(max((entry.index for entry in flow.entries), default=0)))
    short = shown_ids(graph, [entry.id for entry in flow.entries])
    lines = []
    for entry in flow.entries:
        try:
            lines.append(f"{entry.index:{width}}  {node_line(graph.get_node(entry.id), 60, short[entry.id])}")
        except GraphError as problem:
            lines.append(f"{entry.index:{width}}  {entry.id}  ({one_line(explain(problem))})")
    return lines
