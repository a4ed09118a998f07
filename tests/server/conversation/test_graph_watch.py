"""What the watch tells of the graph, however much happens at once, without a server around it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from nebula.graph.formats.flow_yaml import dump_flow
from nebula.graph.formats.node_xml import dump_node
from nebula.graph.graph import Graph
from nebula.graph.values import Edge, Flow, FlowEntry, Node, Utterance
from nebula.server.conversation.briefs import parents_of
from nebula.server.conversation.graph_watch import GraphWatch
from nebula.server.conversation.hub import Hub

MOMENT = "2025-01-01T00:00:00+00:00"


def told(watch: GraphWatch) -> list[tuple[str, dict[str, Any]]]:
    heard = [(name, data) for name, data, _ in watch._waiting]
    watch._waiting.clear()
    return heard


def pulled(root: Path, count: int) -> None:
    """Nodes and their flow as a `git pull` brings them."""
    (root / "nodes/000").mkdir(parents=True, exist_ok=True)
    (root / "flows/000").mkdir(parents=True, exist_ok=True)
    for number in range(count):
        node = Node(f"n{number}", MOMENT, (Utterance("user", f"p{number}"),))
        (root / f"nodes/000/{number:03}.xml").write_bytes(dump_node(node))
    entries = tuple(FlowEntry(number + 1, f"n{number}") for number in range(count))
    edges = tuple(Edge(number, number + 1) for number in range(1, count))
    (root / "flows/000/000.yaml").write_text(dump_flow(Flow("f", "main", MOMENT, MOMENT, "", entries, edges)))


def test_the_parents_of_many_nodes_are_found_in_one_pass():
    flow = Flow(
        "f", "main", entries=tuple(FlowEntry(n, f"n{n}") for n in (1, 2, 3)), edges=(Edge(1, 3, "b"), Edge(2, 3))
    )
    assert parents_of(flow, ["n3", "n1"]) == {
        "n3": [{"source": "n1", "branch": "b"}, {"source": "n2", "branch": None}],
        "n1": [],
    }
    assert parents_of(flow, []) == {}


def test_what_a_pull_brought_is_told_in_order(tmp_path: Path):
    graph = Graph(tmp_path)
    watch = GraphWatch(graph, Hub())
    watch._begin()
    pulled(tmp_path, 300)
    watch.look()
    events = told(watch)
    created = [data for name, data in events if name == "node_created"]
    assert [data["node_id"] for data in created] == [f"n{number}" for number in range(300)]
    assert created[1]["parents"] == [{"source": "n0", "branch": None}]
    assert [name for name, _ in events].count("flow_updated") == 1
    graph.close()


def test_a_flow_that_was_mended_between_two_looks_is_told_to_whom_it_was_not_shown(tmp_path: Path):
    with Graph(tmp_path) as graph:
        graph.create_node("of main")
        second = graph.create_flow("second")
        watch = GraphWatch(graph, Hub())
        watch._begin()
        watch.note_shown([second])
        watch.look()
        [(name, data)] = told(watch)
        assert (name, data["name"], "problem" in data, "deleted" in data) == ("flow_updated", "main", False, False)
        watch.look()
        assert told(watch) == []


def test_the_flows_of_a_node_are_known_however_long_they_are(tmp_path: Path):
    watch = GraphWatch(Graph(tmp_path), Hub())

    def seconds(count: int) -> float:
        flow = Flow("f", "main", entries=tuple(FlowEntry(n, f"n{n}") for n in range(count)))
        watch._remember(flow, flow.nodes, ())
        started = time.thread_time()
        for _ in range(300):
            assert watch._flows_with(f"n{count - 1}") == ["f", "main"]
        return time.thread_time() - started

    few, many = seconds(100), seconds(20_000)
    assert many < few * 20, "two hundred times as many nodes"


def test_whoever_changes_the_graph_does_not_wait_for_a_look(tmp_path: Path):
    with Graph(tmp_path) as graph:
        graph.create_node("first")
        watch = GraphWatch(graph, Hub())
        watch._begin()
        graph.subscribe(watch._hear)
        looking, done = threading.Event(), threading.Event()

        def look_for_long() -> None:
            with watch._lock:
                looking.set()
                assert done.wait(30)
            watch.look()

        thread = threading.Thread(target=look_for_long)
        thread.start()
        assert looking.wait(30)
        second = graph.create_node("second").id
        assert told(watch) == []
        done.set()
        thread.join()
        events = told(watch)
        assert [data["node_id"] for name, data in events if name == "node_created"] == [second]
        graph.update_node(second, response="new")
        assert [name for name, _ in told(watch)] == ["node_updated"]
