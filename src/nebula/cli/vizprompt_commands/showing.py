"""How nodes and flows look in a terminal, as one line, in full, and as JSON.

`nebula.stage` is imported where text is shown: a third of the start-up of commands that show none.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nebula.graph.graph import Graph
    from nebula.graph.values import Flow, Node

_C1 = re.compile("[\x7f-\x9f]")
COLUMNS = 100


def print_json(value: object) -> None:
    """One line of JSON, readable in any script; what a terminal might obey is escaped."""
    text = json.dumps(value, ensure_ascii=False)
    print(_C1.sub(lambda found: f"\\u{ord(found.group()):04x}", text))


def split_list(text: str | None) -> list[str]:
    """`a,b` as a list; Japanese commas do as well."""
    return [part.strip() for part in re.split(r"[,，、]", text or "") if part.strip()]


def node_line(node: Node, columns: int = COLUMNS) -> str:
    """Id, time, what it is about, tags."""
    from nebula.cli.terminal.output.width import cut
    from nebula.stage import one_line

    about = one_line(" ".join((node.summary or node.prompt).split()))
    tags = one_line(" ".join("#" + tag for tag in node.tags))
    return f"{node.id}  {node.timestamp[:16]}  {cut(about, columns)}{'  ' + tags if tags else ''}"


def show_node(node: Node) -> None:
    from nebula.stage import neutralise, one_line

    head = f"{node.id}  {node.timestamp}" + (f"  {one_line(node.model)}" if node.model else "")
    print(head)
    print("-" * len(head))
    for text in node.texts:
        print(f"[{text.role}]")
        print(neutralise(text.text))
        print()
    if node.summary:
        stale = " (edited since)" if node.updated else ""
        print(f"summary{stale}: {neutralise(node.summary)}")
    if node.tags:
        print("tags: " + ", ".join(one_line(tag) for tag in node.tags))
    for file in node.files:
        print(f"file: {one_line(file.path)}")


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
    lines = []
    for entry in flow.entries:
        try:
            lines.append(f"{entry.index:{width}}  {node_line(graph.get_node(entry.id), 60)}")
        except GraphError as problem:
            lines.append(f"{entry.index:{width}}  {entry.id}  ({one_line(str(problem))})")
    return lines


def remark(text: str) -> None:
    print(text, file=sys.stderr)
