"""Flows as graphs: seed 004 §5 (no cycles), §1.2 (branch, merge, reconnect), the original's vectors."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.graph.errors import BadRequest, CycleError, NotFound
from nebula.graph.flows.chain_map import draw_map
from nebula.graph.flows.order import reachable
from nebula.graph.flows.topology import (
    Topology,
    extend,
    find_cycle,
    history,
    rebuilt,
    rewired,
    without_connections,
    without_nodes,
)
from nebula.graph.health.flow_repair import merge
from nebula.graph.values import Connection, Edge, Flow, FlowEntry
from rows import each_row


def flow_of(edges: str, nodes: int = 0) -> Flow:
    pairs = [tuple(map(int, pair.split("-"))) for pair in edges.split(",") if pair]
    count = max([nodes, *(number for pair in pairs for number in pair)])
    return Flow(
        "f",
        "main",
        entries=tuple(FlowEntry(number, str(number)) for number in range(1, count + 1)),
        edges=tuple(Edge(source, target) for source, target in pairs),
    )


@each_row(
    ("edges", "lines"),
    [
        ("1-2,2-3,3-4", "1→2→3→4"),
        ("1-2,2-3,2-4", "1→2<|  2<3|  2<4"),
        ("1-3,2-3,3-4", "1>3|2>3|>3→4"),
        ("1-2,2-3,2-4,3-5,4-5,5-6", "1→2<|  2<3>5|  2<4>5|>5→6"),
        ("1-2,2-3,2-5,3-4,5-6,4-7,6-7,7-8", "1→2<|  2<3→4>7|  2<5→6>7|>7→8"),
        ("1-2,2-3,2-4,2-5,3-6,4-6,5-6,6-7", "1→2<|  2<3>6|  2<4>6|  2<5>6|>6→7"),
        ("1-3,1-4,2-3,2-4", "1<|  1<>3|  1<>4|2<|  2<>3|  2<>4"),
        ("1-2,2-3,2-4,3-5,3-6", "1→2<|  2<3<|    3<5|    3<6|  2<4"),
    ],
)
def test_the_map_of_the_original(edges: str, lines: str) -> None:
    assert draw_map(flow_of(edges)).split("\n") == lines.split("|")


def test_the_map_of_several_parts_and_of_nothing() -> None:
    assert draw_map(flow_of("1-3,2-4", 5)) == "1→3\n2→4\n5"
    assert draw_map(flow_of("")) == ""


@given(st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), max_size=12, unique=True))
def test_every_node_is_on_the_map_whatever_the_edges(pairs: list[tuple[int, int]]) -> None:
    drawn = draw_map(flow_of(",".join(f"{a}-{b}" for a, b in pairs), 7))
    for number in range(1, 8):
        assert str(number) in drawn


@pytest.mark.parametrize(
    ("edges", "node", "path"),
    [
        ("1-2,1-3,2-4,3-4", "4", "1234"),
        ("1-2,1-3,3-4,2-5,4-5", "5", "12345"),
        ("1-3,2-3,3-4", "4", "1234"),
        ("1-2,2-3,2-4", "3", "123"),
    ],
)
def test_the_histories_of_the_original(edges: str, node: str, path: str) -> None:
    assert "".join(history(flow_of(edges), node)) == path


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8)), max_size=14, unique=True), st.integers(1, 8))
def test_a_history_is_all_ancestors_after_their_parents(pairs: list[tuple[int, int]], node: int) -> None:
    pairs = [(a, b) for a, b in pairs if a < b]
    flow = flow_of(",".join(f"{a}-{b}" for a, b in pairs), 8)
    path = [int(each) for each in history(flow, str(node))]
    assert path[-1] == node
    assert len(set(path)) == len(path)
    assert set(path) == set(reachable(node, Topology(flow).parents))
    for a, b in pairs:
        if a in path and b in path:
            assert path.index(a) < path.index(b)


def test_a_history_of_a_stranger_is_an_error() -> None:
    with pytest.raises(NotFound):
        history(flow_of("1-2"), "9")


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=12, unique=True))
def test_5_cycles_in_files_are_found_and_not_crashed_on(pairs: list[tuple[int, int]]) -> None:
    flow = flow_of(",".join(f"{a}-{b}" for a, b in pairs), 6)
    circle = find_cycle(flow)
    topology = Topology(flow)
    cyclic = any(
        node in reachable(child, topology.children) for node in topology.children for child in topology.children[node]
    )
    assert bool(circle) == cyclic
    if circle:
        assert circle[0] == circle[-1]
        assert all((a, b) in pairs for a, b in pairwise(circle))
    for node in "123456":
        assert node in history(flow, node)


def connect(flow: Flow, source: str, target: str) -> tuple[list[FlowEntry], list[Edge]]:
    return extend(flow.name, Topology(flow), (), [Connection(source, target)])


def test_5_an_edge_that_closes_a_circle_is_refused_by_name() -> None:
    with pytest.raises(
        CycleError, match="cannot connect 3 to 1: the second already leads to the first, and flow 'main'"
    ):
        connect(flow_of("1-2,2-3"), "3", "1")
    with pytest.raises(CycleError, match="a node cannot follow itself"):
        connect(flow_of("1-2"), "2", "2")
    with pytest.raises(CycleError):
        connect(flow_of("1-2"), "new", "new")


def test_a_duplicate_edge_is_ignored() -> None:
    assert connect(flow_of("1-2"), "1", "2") == ([], [])


def test_nodes_come_in_with_their_edge() -> None:
    assert connect(flow_of("1-2"), "2", "new") == ([FlowEntry(3, "new")], [Edge(2, 3)])


def test_one_edge_is_removed_and_no_other() -> None:
    assert without_connections(flow_of("1-2,1-3,2-3"), [Connection("1", "3")]).edges == (Edge(1, 2), Edge(2, 3))
    with pytest.raises(NotFound):
        without_connections(flow_of("1-2"), [Connection("2", "1")])


def test_a_node_leaves_with_its_edges_and_its_neighbours_stay_apart() -> None:
    flow = without_nodes(flow_of("1-2,2-3,1-4"), ["2"])
    assert flow.nodes == ["1", "3", "4"]
    assert flow.edges == (Edge(1, 4),)


def test_rebuilding_makes_exactly_that_chain_and_keeps_branch_names() -> None:
    flow = Flow(
        "f", "main", entries=(FlowEntry(1, "a"), FlowEntry(2, "b"), FlowEntry(3, "c")), edges=(Edge(1, 2, "枝"),)
    )
    flow = rebuilt(flow, ["c", "a", "b"])
    assert flow.connections == [Connection("c", "a"), Connection("a", "b", "枝")]
    assert flow.nodes == ["c", "a", "b"]
    with pytest.raises(BadRequest):
        rebuilt(flow, ["a", "a"])


@pytest.mark.slow
def test_a_chain_of_a_hundred_thousand_is_no_trouble() -> None:
    count = 100_000
    flow = Flow(
        "f",
        "main",
        entries=tuple(FlowEntry(number, str(number)) for number in range(1, count + 1)),
        edges=tuple(Edge(number, number + 1) for number in range(1, count)),
    )
    assert len(history(flow, str(count))) == count
    assert find_cycle(flow) == []
    with pytest.raises(CycleError):
        connect(flow, str(count), "1")
    assert draw_map(flow).count("→") == count - 1


def test_a_merge_keeps_the_branch_names_of_both_sides() -> None:
    ours = rewired(Flow("f", "main"), ["a", "b"], [Connection("a", "b", "ours")])
    theirs = rewired(Flow("f", "main"), ["a", "b", "c"], [Connection("a", "b", "lost"), Connection("a", "c", "theirs")])
    merged = merge(ours, theirs)
    assert merged.nodes == ["a", "b", "c"]
    assert merged.connections == [Connection("a", "b", "ours"), Connection("a", "c", "theirs")]
