"""Two people's branches that both added turns merge by themselves, with real git."""

import subprocess

import pytest

from in_process import run_here
from nebula.graph.graph import Graph
from scripted_model import ScriptedModel, Turn

pytestmark = pytest.mark.slow


def git(bench, *words, check=True):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *words], cwd=bench.project, check=check, capture_output=True, text=True)


def graph_of(bench):
    return Graph(str(bench.project / ".nebula/graph"))


def commit(bench, message):
    git(bench, "add", "-A")
    git(bench, "commit", "-q", "-m", message)


@pytest.fixture
def shared(bench):
    git(bench, "init", "-q", "-b", "trunk")
    with graph_of(bench) as graph:
        bench_first = graph.create_node("first", "one")
        graph.create_node("second", "two", parents=[bench_first.id])
    ran = run_here(bench, "nebula", "graph", "share", "--yes")
    assert ran.code == 0, ran.err
    commit(bench, "start")
    return bench, bench_first


def branch(bench, ours, theirs):
    """Do `theirs` on another branch and `ours` on trunk, then merge."""
    git(bench, "checkout", "-q", "-b", "other")
    with graph_of(bench) as graph:
        theirs(graph)
    commit(bench, "theirs")
    git(bench, "checkout", "-q", "trunk")
    with graph_of(bench) as graph:
        ours(graph)
    commit(bench, "ours")
    return git(bench, "merge", "--no-edit", "other", check=False)


def test_both_added_turns(shared):
    bench, first = shared
    merged = branch(
        bench,
        lambda graph: graph.create_node("ours", "a", parents=[graph.get_flow().nodes[-1]]),
        lambda graph: [graph.create_node(f"theirs {n}", "b", parents=[first.id], branch="b") for n in range(2)],
    )
    assert merged.returncode == 0, merged.stdout + merged.stderr
    assert git(bench, "status", "--porcelain").stdout == ""
    assert run_here(bench, "nebula", "graph").code == 0
    assert run_here(bench, "nebula", "graph", "check").code == 0
    with graph_of(bench) as graph:
        assert {node.prompt for node in graph.list_nodes()} == {"first", "second", "ours", "theirs 0", "theirs 1"}
        flow = graph.get_flow()
        assert len(flow.nodes) == 5 and len(flow.connections) == 4
        assert {c.branch for c in flow.connections if c.source == first.id} == {None, "b"}


def test_each_changed_another_field_of_one_turn(shared):
    bench, first = shared
    merged = branch(
        bench,
        lambda graph: graph.update_node(first.id, response="our answer"),
        lambda graph: graph.update_node(first.id, tags=["their-tag"]),
    )
    assert merged.returncode == 0
    with graph_of(bench) as graph:
        node = graph.get_node(first.id)
        assert (node.response, node.tags) == ("our answer", ["their-tag"]) and graph.count_nodes() == 2


def test_what_both_changed_is_kept_twice_and_shown(shared):
    bench, first = shared
    merged = branch(
        bench,
        lambda graph: graph.update_node(first.id, response="our answer"),
        lambda graph: graph.update_node(first.id, response="their answer"),
    )
    assert merged.returncode == 0, merged.stdout + merged.stderr
    shown = run_here(bench, "nebula", "graph")
    assert "from a merge" in shown.err
    with graph_of(bench) as graph:
        assert graph.get_node(first.id).response == "our answer"
        assert [node.response for node in graph.list_nodes_outside()] == ["their answer"]


@pytest.mark.parametrize("words", [("graph",), ("-p", "go on")])
def test_what_a_merge_kept_twice_is_parted_for_whoever_gets_its_commit(shared, words):
    bench, first = shared
    branch(
        bench,
        lambda graph: graph.update_node(first.id, response="our answer"),
        lambda graph: graph.update_node(first.id, response="their answer"),
    )
    (bench.project / ".nebula/graph/.state/merged").unlink()  # a clone has none of it
    with ScriptedModel([Turn("On it goes.")]) as server:
        ran = run_here(bench, "nebula", *words, **server.env())
    assert ran.code == 0, ran.err
    with graph_of(bench) as graph:
        assert graph.get_node(first.id).response == "our answer"
        assert [node.response for node in graph.list_nodes_outside()] == ["their answer"]


def test_what_one_took_out_stays_out(shared):
    bench, first = shared

    def take_out(graph):
        graph.delete_node(graph.get_flow().nodes[-1])

    merged = branch(bench, lambda graph: graph.create_node("ours", "a", parents=[first.id]), take_out)
    assert merged.returncode == 0, merged.stdout + merged.stderr
    run_here(bench, "nebula", "graph")
    with graph_of(bench) as graph:
        assert [graph.get_node(each).prompt for each in graph.get_flow().nodes] == ["first", "ours"]


def test_what_one_side_named_has_that_name(shared):
    bench, first = shared
    with graph_of(bench) as graph:
        _, second = graph.get_flow().nodes
        side = graph.create_flow("side")
    commit(bench, "a flow more")

    def name(graph):
        graph.name_branch(first.id, second, "the way")
        graph.link_flow(second, side.id)
        graph.update_flow("main", archived=True)

    merged = branch(bench, lambda graph: graph.create_node("ours", "a", parents=[second]), name)
    assert merged.returncode == 0, merged.stdout + merged.stderr
    with graph_of(bench) as graph:
        flow = graph.get_flow()
        assert [c.branch for c in flow.connections] == ["the way", None]
        assert [entry.flow for entry in flow.entries] == ["", side.id, ""] and flow.archived
