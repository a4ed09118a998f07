"""Whole branches and flows: delete, move, copy, name, count; each is one step of undo."""

from __future__ import annotations

import pytest

from nebula.graph.errors import BadRequest, NotFound
from nebula.graph.graph import Graph
from nebula.graph.undo import EditHistory


@pytest.fixture
def graph(tmp_path):
    with Graph(tmp_path / "data") as opened:
        yield opened


def grow(graph):
    """one → two → three; one → side → both, which merges three."""
    one = graph.create_node("one", model="m", tags=["t"]).id
    two = graph.create_node("two", parents=[one]).id
    three = graph.create_node("three", parents=[two]).id
    side = graph.create_node("side", parents=[one], branch="try").id
    both = graph.create_node("both", parents=[side, three]).id
    return one, two, three, side, both


def test_a_branch_is_deleted_at_once_and_comes_back_at_once(graph):
    one, two, three, side, both = grow(graph)
    before, edits = graph.get_flow(), EditHistory(graph)
    assert set(edits.do(lambda: graph.delete_branch(two))) == {two, three}
    assert graph.get_flow().nodes == [one, side, both], "what another branch leads to, too, stays"
    assert edits.undo()
    assert (graph.get_flow().nodes, graph.get_flow().connections) == (before.nodes, before.connections)


@pytest.mark.parametrize("copy", [False, True])
def test_a_branch_goes_to_another_flow_with_its_connections(graph, copy):
    one, two, three, side, both = grow(graph)
    other, edits = graph.create_flow("other"), EditHistory(graph)
    edits.do(lambda: graph.move_branch(two, "other", copy=copy))
    moved = graph.get_flow(other.id)
    assert (moved.nodes, [(c.source, c.target) for c in moved.connections]) == ([two, three], [(two, three)])
    assert (two in graph.get_flow().nodes) is copy
    assert edits.undo()
    assert graph.get_flow(other.id).nodes == [] and graph.get_flow().nodes == [one, two, three, side, both]
    with pytest.raises(BadRequest):
        graph.move_branch(two, "main")


def test_a_branch_is_named_and_the_order_of_parents_stays(graph):
    _, _, three, side, both = grow(graph)
    graph.name_branch(side, both, "the better one")
    named = [(c.source, c.branch) for c in graph.get_flow().connections if c.target == both]
    assert named == [(side, "the better one"), (three, None)]
    graph.name_branch(side, both, "")
    assert not any(c.branch for c in graph.get_flow().connections if c.target == both)
    with pytest.raises(NotFound):
        graph.name_branch(both, side, "no")


def test_a_flow_is_deleted_and_its_nodes_stay(graph):
    one, *_ = grow(graph)
    graph.create_flow("other")
    graph.move_branch(one, "other")
    edits = EditHistory(graph)
    edits.do(lambda: graph.delete_flow("other"))
    assert [flow.name for flow in graph.list_flows()] == ["main"]
    assert one in {node.id for node in graph.list_nodes_outside()}
    assert edits.undo()
    assert one in graph.get_flow("other").nodes


def test_a_summary_is_written_by_hand_and_is_not_due_then(graph):
    node = graph.create_node("question", "answer")
    changed = graph.update_node(node.id, response="another", summary="by hand")
    assert (changed.summary, changed.due) == ("by hand", False)
    assert graph.update_node(node.id, summary="").due


def test_a_flow_is_counted(graph):
    grow(graph)
    counted = graph.count_flow()
    assert (counted.turns, counted.conversations, counted.branch_points, counted.merges) == (5, 1, 1, 1)
    assert (counted.models, counted.tags) == ({"m": 1}, {"t": 1})
