"""The turns of this conversation, as commands name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.graph.errors import NotFound
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession
    from nebula.graph.values import Node


def past_turns(terminal: TerminalSession) -> list[Node]:
    """The turns that led here, newest first."""
    leaf = terminal.session.conversation.leaf
    return terminal.session.archive.path_to([leaf])[::-1] if leaf else []


def named_node(terminal: TerminalSession, name: str) -> str:
    """The id of a node, by its line in the menu of /fork or by a beginning of its id. Raises GraphError."""
    turns = past_turns(terminal)
    if name.isdecimal() and 1 <= int(name) <= len(turns):
        return turns[int(name) - 1].id
    graph = terminal.session.archive.graph
    if graph is None:
        raise NotFound("no node {node_id}", node_id=one_line(name))
    return graph.resolve_id(name)


def short_ids(terminal: TerminalSession, node_ids: list[str]) -> dict[str, str]:
    graph = terminal.session.archive.graph
    return graph.shortest_unique_ids(node_ids) if graph is not None else {each: each for each in node_ids}
