"""/graph and /tree: the shape of the conversation, in text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.output.width import cut
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.graph.errors import GraphError
from nebula.graph.flows.chain_map import draw_map
from nebula.graph.flows.topology import Topology, first_turns
from nebula.graph.graph import Graph
from nebula.graph.values import Flow
from nebula.language import explain
from nebula.stage import join_lines, one_line
from nebula.value import replace

NAMED = 60
"""So many of the newest nodes are shown with their prompts; reading each is a file."""


async def graph(terminal: TerminalSession, argument: str) -> None:
    await asyncio.to_thread(_show, terminal, argument, _show_map)


async def tree(terminal: TerminalSession, argument: str) -> None:
    await asyncio.to_thread(_show, terminal, argument, _show_tree)


def _show(terminal: TerminalSession, argument: str, draw: Callable[[TerminalSession, Graph, Flow], None]) -> None:
    found = _flow(terminal, everything=argument == "all")
    if found is not None:
        draw(terminal, *found)


def _show_map(terminal: TerminalSession, graph: Graph, flow: Flow) -> None:
    for line in draw_map(flow).split("\n"):
        terminal.screen.verbatim(line)
    terminal.screen.line()
    labels = _labels(terminal, graph, flow)
    for entry in flow.entries[-NAMED:]:
        mark, label = labels[entry.index]
        terminal.screen.verbatim(cut(f"{mark}{entry.index:3} {label}", terminal.screen.columns - 1))
    terminal.screen.hint("The numbers are those of the drawing; commands such as /fork take the id.")


def _show_tree(terminal: TerminalSession, graph: Graph, flow: Flow) -> None:
    labels = _labels(terminal, graph, flow)
    for indent, index, again in tree_order(Topology(flow), _tries_of(graph, flow)):
        mark, name = labels.get(index, (" ", str(index)))
        label = f"↪ {name}" if again else f"{mark} {name}"
        terminal.screen.verbatim(indent + cut(label, terminal.screen.columns - 1 - len(indent)))


def tree_order(topology: Topology, tries: Mapping[int, int] = {}) -> list[tuple[str, int, bool]]:
    """Return indent, node, and whether it was drawn before (branches that meet). Only a branching indents, also one at
    the very beginning: `tries` has the first try of each further one."""
    drawn: set[int] = set()
    lines: list[tuple[str, int, bool]] = []
    groups: dict[int, list[int]] = {}
    for index, parents in topology.parents.items():
        if not parents:
            groups.setdefault(tries.get(index, index), []).append(index)
    pending = [each for group in groups.values() for each in _branches("", group)][::-1]
    while pending:
        before, indent, index = pending.pop()
        lines.append((before, index, index in drawn))
        if index in drawn:
            continue
        drawn.add(index)
        pending += reversed(_branches(indent, topology.children[index]))
    return lines


def _branches(indent: str, nodes: Sequence[int]) -> list[tuple[str, str, int]]:
    """Return what stands before each of these nodes and before what follows it; one alone stands where it would."""
    if len(nodes) == 1:
        return [(indent, indent, nodes[0])]
    last = len(nodes) - 1
    return [
        (indent + ("└ " if place == last else "├ "), indent + ("  " if place == last else "│ "), node)
        for place, node in enumerate(nodes)
    ]


def _tries_of(graph: Graph, flow: Flow) -> dict[int, int]:
    """Return, for each further try of a first prompt in the flow, the number that stands for all of them."""
    index_of = {entry.id: entry.index for entry in flow.entries}
    begun = graph.list_beginnings(first_turns(flow))
    firsts = {index_of[each]: begun[each].first_try for each in begun if begun[each].first_try}
    numbers = {first: index_of.get(first, -place) for place, first in enumerate(dict.fromkeys(firsts.values()), 1)}
    return {index: numbers[first] for index, first in firsts.items()}


def _flow(terminal: TerminalSession, *, everything: bool) -> tuple[Graph, Flow] | None:
    """Return the graph and the part of its flow that this conversation belongs to; all of the flow where it has not
    begun."""
    graph = terminal.session.archive.graph
    try:
        flow = graph.get_flow() if graph is not None else None
    except GraphError:
        flow = None
    if graph is None or flow is None or not flow.entries:
        terminal.screen.tell("The conversation graph is empty so far.")
        return None
    here = terminal.session.conversation.leaf
    return graph, flow if everything or here is None else connected_part(flow, here, _tries_of(graph, flow))


def connected_part(flow: Flow, node_id: str, tries: Mapping[int, int] = {}) -> Flow:
    """Return the nodes of a flow that are connected with this one; tries of one beginning are."""
    topology = Topology(flow)
    start = topology.index_of.get(node_id)
    if start is None:
        return flow
    groups: dict[int, list[int]] = {}
    for index, first in tries.items():
        groups.setdefault(first, [first] if first in topology.parents else []).append(index)
    part, pending = {start}, [start]
    while pending:
        index = pending.pop()
        beside = groups.get(tries.get(index, index), [])
        near = [each for each in topology.children[index] + topology.parents[index] + beside if each not in part]
        part.update(near)
        pending += near
    return replace(
        flow,
        entries=tuple(entry for entry in flow.entries if entry.index in part),
        edges=tuple(edge for edge in flow.edges if edge.source in part),
    )


def _labels(terminal: TerminalSession, graph: Graph, flow: Flow) -> dict[int, tuple[str, str]]:
    """Return for each node a mark (a star where the next prompt continues) and its label: the shortest id that commands
    accept, and the prompt."""
    here = terminal.session.conversation.leaf
    newest = flow.entries[-NAMED:]
    short = graph.shortest_unique_ids(entry.id for entry in newest)
    labels = {}
    for entry in newest:
        try:
            prompt = join_lines(graph.get_node(entry.id).prompt)
        except GraphError as problem:
            prompt = one_line(f"({explain(problem)})")
        mark = "*" if entry.id == here else " "
        labels[entry.index] = mark, f"{one_line(short[entry.id])}  {prompt}"
    return labels


COMMANDS = (
    SessionCommand("graph", "draw the conversation as a graph", graph),
    SessionCommand("tree", "draw the conversation with its prompts", tree),
)
