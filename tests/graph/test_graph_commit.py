"""What a change reports, what it refuses and in which words, and what its inverse puts back: to the letter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nebula.graph import undo
from nebula.graph.commit import Commit
from nebula.graph.errors import BadRequest, ChangedSince
from nebula.graph.flows.change import FlowChange, GraphChange, NodeEdit, apply_edit, changed, difference
from nebula.graph.graph import Graph
from nebula.graph.undo import KEPT_HISTORIES, EditHistories, EditHistory
from nebula.graph.values import Connection, Flow, Node, Utterance
from nebula.language import explain
from nebula.value import replace
from rows import each_row


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return Graph(tmp_path / "graph")


def commit(graph: Graph, change: GraphChange) -> None:
    with graph._store.writing():
        Commit(graph._store, change).run()


def said(*texts: str, **more: Any) -> Node:
    roles = ("user", "assistant", "tool")
    return Node("n", "t", tuple(map(Utterance, roles, texts)), **more)


def test_each_event_names_what_it_is_about(graph: Graph) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []
    graph.subscribe(lambda name, data: heard.append((name, data)))
    first = graph.create_node("p")
    flow = graph.get_flow()
    place = {"flow_id": flow.id, "parents": []}
    assert heard.pop(0) == ("node_created", {"node_id": first.id, "node": first, **place})
    change = FlowChange("main", add=(first.id,))
    assert heard.pop(0) == ("flow_updated", {"flow_id": flow.id, "name": "main", "change": change})
    edited = graph.update_node(first.id, tags=["t"])
    assert heard.pop(0) == ("node_updated", {"node_id": first.id, "node": edited})
    lonely = replace(first, id="lonely")
    commit(graph, GraphChange(create=(lonely,)))
    assert heard.pop(0) == ("node_created", {"node_id": "lonely", "node": lonely, "flow_id": "", "parents": []})
    graph.delete_node("lonely")
    assert heard.pop(0) == ("node_deleted", {"node_id": "lonely"})
    other = graph.create_flow("other")
    commit(graph, GraphChange(remove_flows=(other,)))
    assert heard == [("flow_updated", {"flow_id": other.id, "name": "other"})] * 2


def test_a_refusal_names_what_it_refuses(graph: Graph) -> None:
    first = graph.create_node("p")
    with pytest.raises(BadRequest) as twice:
        commit(graph, GraphChange(flows=(FlowChange("main", name="a"), FlowChange("main", name="b"))))
    assert explain(twice.value) == "flow 'main' stands twice in one change"
    graph.create_flow("other")
    for change in (
        GraphChange(create_flows=(Flow("f", "other"),)),
        GraphChange(flows=(FlowChange("main", name="other"),)),
    ):
        with pytest.raises(BadRequest) as taken:
            commit(graph, change)
        assert explain(taken.value) == "there is a flow 'other' already"
    graph.update_flow("main", name="main", description="its own name is free")
    graph.add_node_to_flow("other", first.id)
    with pytest.raises(ChangedSince) as elsewhere:
        commit(graph, GraphChange(take_back=(first,), flows=(FlowChange("main", leave=(first.id,)),)))
    assert explain(elsewhere.value) == f"node {first.id} is in flow 'other' by now; it stays as it is"
    graph.remove_node_from_flow("other", first.id)
    graph.update_node(first.id, response="edited")
    with pytest.raises(ChangedSince) as edited:
        commit(graph, GraphChange(take_back=(first,), flows=(FlowChange("main", leave=(first.id,)),)))
    assert explain(edited.value) == f"node {first.id} was edited meanwhile; it stays as it is"


def test_a_removed_flow_must_be_as_it_was(graph: Graph) -> None:
    flow = graph.create_flow("other")
    graph.update_flow("other", description="by somebody else")
    with pytest.raises(ChangedSince) as changed_since:
        commit(graph, GraphChange(remove_flows=(flow,)))
    assert explain(changed_since.value) == "flow 'other' was changed meanwhile; it stays as it is"


def test_the_index_has_a_line_for_each_new_node_and_metadata_is_marked_old(graph: Graph) -> None:
    node = graph.create_node("p")
    graph.close()
    lines = (Path(graph.data_dir) / "nodes/index.tsv").read_text("utf-8").splitlines()
    assert lines[1:] == [f"000/000.xml\t{node.id}\t{node.timestamp}"]
    graph.update_node(node.id, tags=["late"])
    assert graph._store.metadata.is_old()
    graph.close()
    graph.create_flow("nothing of it is in the metadata")
    assert not graph._store.metadata.is_old()
    graph.create_node("q")
    assert graph._store.metadata.is_old()
    graph.close()


@pytest.mark.parametrize("field", ["name", "description"])
def test_an_undone_name_or_description_comes_back_unless_somebody_changed_it(graph: Graph, field: str) -> None:
    graph.create_flow("f", "said")
    before = graph.get_flow("f")
    history = EditHistory(graph)
    history.do(lambda: graph.update_flow(before.id, **{field: "new"}))
    other = {"name": "description", "description": "name"}[field]
    graph.update_flow(before.id, **{other: "of somebody else"})
    history.undo()
    assert getattr(graph.get_flow(before.id), field) == getattr(before, field)
    assert getattr(graph.get_flow(before.id), other) == "of somebody else"
    history.redo()
    graph.update_flow(before.id, **{field: "newer"})
    with pytest.raises(ChangedSince):
        history.undo()
    assert getattr(graph.get_flow(before.id), field) == "newer"


def test_a_difference_says_nothing_of_what_is_the_same() -> None:
    old, new = Flow("f", "main", description="d"), Flow("f", "main", description="e")
    found = difference(old, new)
    assert (found.name, found.old_name, found.description, found.old_description) == (None, None, "e", "d")
    renamed = difference(old, replace(old, name="n"))
    assert (renamed.name, renamed.old_name, renamed.description, renamed.old_description) == ("n", "main", None, None)
    with pytest.raises(ChangedSince) as error:
        changed(replace(old, description="x"), found)
    assert explain(error.value) == "flow 'main' was changed meanwhile; it stays as it is"


def test_an_edit_that_finds_another_text_names_node_and_field() -> None:
    edit = NodeEdit(said("p", "a"), said("p", "b"))
    for held in (said("p", "x"), said("p", "x", "one more")):
        with pytest.raises(ChangedSince) as error:
            apply_edit(held, edit)
        assert explain(error.value) == "node n was changed meanwhile (texts); it stays as it is"
    with pytest.raises(ChangedSince) as error:
        apply_edit(said("p", model="x"), NodeEdit(said("p", model="a"), said("p", model="b")))
    assert explain(error.value) == "node n was changed meanwhile (model); it stays as it is"


@each_row(
    ("held", "before", "after", "updated"),
    [
        (said("p", updated=True), said("p"), said("p", tags=["t"]), True),
        (said("p"), said("p", updated=True), said("p", tags=["t"], updated=True), False),
        (said("p", summary="s"), said("p", summary="s"), said("q", summary="s", updated=True), True),
        (said("p", summary="s", updated=True), said("p", summary="s"), said("p", summary="z"), False),
        (said("x", summary="s"), said("p", summary="s"), said("p", summary="z"), True),
        (said("p", last_built="1"), said("p", last_built="1"), said("p", last_built="2"), False),
        (said("x", last_built="1"), said("p", last_built="1"), said("p", last_built="2"), True),
        (said("x", "a"), said("p", "a"), said("p", "b", updated=False), True),
    ],
)
def test_a_summary_is_up_to_date_only_beside_its_texts(held: Node, before: Node, after: Node, updated: bool) -> None:
    assert apply_edit(held, NodeEdit(before, after)).updated is updated


def test_a_hundred_edits_can_be_undone_and_no_more(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "KEPT", 2)
    history = EditHistory(graph)
    for number in range(3):
        history.do(lambda number=number: graph.create_flow(str(number)))  # type: ignore[misc]
    history.undo()
    history.undo()
    assert [flow.name for flow in graph.list_flows()] == ["0"]
    assert not history.undo()
    assert [flow.name for flow in graph.list_flows()] == ["0"]


def test_connections_of_a_taken_back_node_keep_their_branch(graph: Graph) -> None:
    first = graph.create_node("p").id
    history = EditHistory(graph)
    second = history.do(lambda: graph.create_node("q", parents=[first], branch="b")).id
    history.undo()
    assert graph.get_flow().nodes == [first]
    history.redo()
    assert graph.get_flow().connections == [Connection(first, second, "b")]


def test_each_has_an_undo_of_its_own_and_the_one_longest_unused_is_forgotten(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        histories = EditHistories(graph)
        first, second = histories.of("first"), histories.of("second")
        node = first.do(lambda: graph.create_node("a"))
        assert not second.undo() and histories.of("first") is first and first.undo()
        assert graph.list_nodes() == [] and first.redo() and graph.list_nodes() == [node]
        for number in range(KEPT_HISTORIES - 1):
            histories.of(str(number))
        assert histories.of("first") is first and histories.of("second") is not second
