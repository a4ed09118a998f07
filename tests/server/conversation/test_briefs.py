"""What an event says of a flow that changed: enough for a page to know whether it has to fetch it again."""

from __future__ import annotations

import pytest

from nebula.graph.graph import Graph
from nebula.graph.values import Flow
from nebula.server.conversation.briefs import difference, only_grew


@pytest.fixture
def graph(tmp_path):
    with Graph(tmp_path / "data") as opened:
        yield opened


@pytest.fixture
def before(graph) -> Flow:
    first = graph.create_node("1")
    graph.create_node("2", parents=[first.id])
    graph.create_node("3")
    return graph.get_flow()


def test_new_nodes_with_the_connections_that_lead_to_them_are_growth(graph, before):
    one, two, _ = before.nodes
    graph.create_node("4", parents=[one, two])
    graph.create_node("5")
    assert only_grew(before, graph.get_flow())
    assert only_grew(None, before)
    added, removed = difference(before, graph.get_flow())
    assert (len(added), removed) == (2, [])


def test_a_connection_between_nodes_that_were_there_is_not(graph, before):
    _, two, three = before.nodes
    graph.connect_nodes(two, three)
    assert not only_grew(before, graph.get_flow())
    graph.create_node("4", parents=[three])
    assert not only_grew(before, graph.get_flow()), "not even beside a new node"


def test_a_connection_that_went_is_not(graph, before):
    one, two, three = before.nodes
    graph.create_node("4", parents=[three])
    graph.disconnect_nodes(one, two)
    assert not only_grew(before, graph.get_flow())


def test_a_node_that_went_is_not(graph, before):
    graph.create_node("4")
    graph.delete_node(before.nodes[2])
    now = graph.get_flow()
    assert not only_grew(before, now)
    assert difference(before, now) == ([now.nodes[-1]], [before.nodes[2]])


def test_a_flow_that_is_what_it_was_has_not_grown(graph, before):
    graph.update_flow("main", description="the same nodes")
    assert not only_grew(before, graph.get_flow())
