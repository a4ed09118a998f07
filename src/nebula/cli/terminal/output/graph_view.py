"""The conversation as a graph, in text: the chain map, and the same with prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.cli.terminal.output.width import cut
from nebula.graph.errors import GraphError
from nebula.graph.flows.chain_map import draw_map
from nebula.graph.flows.topology import Topology
from nebula.stage import one_line
from nebula.value import replace

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession
    from nebula.graph.graph import Graph
    from nebula.graph.values import Flow

NAMED = 60
"""So many of the newest nodes are shown with their prompts; reading each is a file."""


def short_id(node_id: str) -> str:
    """The end of an id: its beginning is the time, which neighbours share."""
    return node_id[-8:]


def show_map(terminal: TerminalSession, *, everything: bool = False) -> None:
    found = _flow(terminal, everything=everything)
    if found is None:
        return
    graph, flow = found
    terminal.screen.line(draw_map(flow))
    terminal.screen.line()
    here = terminal.session.conversation.leaf
    for entry in flow.entries[-NAMED:]:
        terminal.screen.line(_label(graph, entry.index, entry.id, here, terminal.screen.columns))


def show_tree(terminal: TerminalSession, *, everything: bool = False) -> None:
    found = _flow(terminal, everything=everything)
    if found is None:
        return
    graph, flow = found
    ids = {entry.index: entry.id for entry in flow.entries}
    named = {entry.index for entry in flow.entries[-NAMED:]}
    here = terminal.session.conversation.leaf
    for indent, index, again in tree_order(Topology(flow)):
        room = terminal.screen.columns - len(indent)
        if again or index not in named:
            terminal.screen.line(f"{indent}{'↪ ' if again else ''}{index}")
        else:
            terminal.screen.line(indent + _label(graph, index, ids[index], here, room))


def tree_order(topology: Topology) -> list[tuple[str, int, bool]]:
    """Indent, node, and whether it was drawn before (branches that meet). Only a branching indents."""
    drawn: set[int] = set()
    lines: list[tuple[str, int, bool]] = []
    roots = [index for index, parents in topology.parents.items() if not parents]
    pending = [("", "", root) for root in reversed(roots)]
    while pending:
        before, indent, index = pending.pop()
        lines.append((before, index, index in drawn))
        if index in drawn:
            continue
        drawn.add(index)
        children = topology.children[index]
        if len(children) == 1:
            pending.append((indent, indent, children[0]))
        else:
            last = len(children) - 1
            branches = [
                (indent + ("└ " if place == last else "├ "), indent + ("  " if place == last else "│ "), child)
                for place, child in enumerate(children)
            ]
            pending += reversed(branches)
    return lines


def _flow(terminal: TerminalSession, *, everything: bool) -> tuple[Graph, Flow] | None:
    """The part of the graph that this talk belongs to; all of it where the talk has not begun."""
    graph = terminal.session.archive.graph
    try:
        flow = graph.get_flow() if graph is not None else None
    except GraphError:
        flow = None
    if graph is None or flow is None or not flow.entries:
        terminal.screen.line(terminal.words("graph_empty"))
        return None
    here = terminal.session.conversation.leaf
    return graph, flow if everything or here is None else connected_part(flow, here)


def connected_part(flow: Flow, node_id: str) -> Flow:
    topology = Topology(flow)
    start = topology.index_of.get(node_id)
    if start is None:
        return flow
    part, pending = {start}, [start]
    while pending:
        index = pending.pop()
        near = [each for each in topology.children[index] + topology.parents[index] if each not in part]
        part.update(near)
        pending += near
    return replace(
        flow,
        entries=tuple(entry for entry in flow.entries if entry.index in part),
        edges=tuple(edge for edge in flow.edges if edge.source in part),
    )


def _label(graph: Graph, index: int, node_id: str, here: str | None, columns: int) -> str:
    try:
        prompt = graph.get_node(node_id).prompt
    except GraphError as problem:
        prompt = f"({problem})"
    mark = "*" if node_id == here else " "
    return cut(f"{mark}{index:3} {short_id(node_id)}  {one_line(' '.join(prompt.split()))}", columns - 1)
