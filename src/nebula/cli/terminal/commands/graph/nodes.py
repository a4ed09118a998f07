"""The turns of this conversation, as commands name them."""

from __future__ import annotations

from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.graph.errors import NotFound
from nebula.graph.values import Node
from nebula.stage import one_line


def past_turns(terminal: TerminalSession) -> list[Node]:
    """Return the turns that led here, newest first."""
    leaf = terminal.session.conversation.leaf
    return terminal.session.archive.path_to([leaf])[::-1] if leaf else []


def other_tries(terminal: TerminalSession, first: Node) -> list[Node]:
    """Return the other tries of the prompt with which this conversation began, newest first."""
    archive = terminal.session.archive
    if archive.graph is None:
        return []
    ids = [each for each in archive.graph.list_tries(first) if each != first.id]
    return [node for each in reversed(ids) if (node := archive.find(each))]


def menu_of_turns(terminal: TerminalSession) -> tuple[list[Node], int]:
    """Return what the menu of /fork offers, and how many of it led here; the rest are other tries of the first."""
    turns = past_turns(terminal)
    return (turns + other_tries(terminal, turns[-1]) if turns else []), len(turns)


def named_node(terminal: TerminalSession, name: str) -> str:
    """Return the id of a node, by its line in the menu of /fork or by a beginning of its id. Raises GraphError."""
    turns, _ = menu_of_turns(terminal)
    if name.isdecimal() and 1 <= int(name) <= len(turns):
        return turns[int(name) - 1].id
    graph = terminal.session.archive.graph
    if graph is None:
        raise NotFound("no node {node_id}", node_id=one_line(name))
    return graph.resolve_id(name)


def short_ids(terminal: TerminalSession, node_ids: list[str]) -> dict[str, str]:
    graph = terminal.session.archive.graph
    return graph.shortest_unique_ids(node_ids) if graph is not None else {each: each for each in node_ids}
