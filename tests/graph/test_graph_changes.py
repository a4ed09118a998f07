"""Changes as values: one commit each, an inverse for each, events that carry what changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.graph.disk import watch
from nebula.graph.errors import AmbiguousId, BadFile, BadRequest, ChangedSince, CycleError, NotFound
from nebula.graph.flows.change import FlowChange, GraphChange, NodeEdit, changed, difference
from nebula.graph.flows.topology import rewired
from nebula.graph.graph import Graph
from nebula.graph.ids import shortest_unique
from nebula.graph.undo import EditHistory
from nebula.graph.values import Connection, Edge, Flow, FlowEntry
from nebula.value import replace

LONG_AGO = "2020-01-01T00:00:00.000000+00:00"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return Graph(tmp_path / "graph")


def state(graph: Graph) -> tuple[list[Any], list[Any]]:
    """What a person would see: nodes by id, and each flow's lists in their order."""
    flows = [(flow.name, flow.description, flow.entries, flow.edges) for flow in graph.list_flows()]
    return sorted(graph.list_nodes(), key=lambda node: node.id), flows


def chain(graph: Graph, count: int) -> list[str]:
    ids: list[str] = []
    for number in range(count):
        ids.append(graph.create_node(f"p{number}", f"r{number}", parents=ids[-1:]).id)
    return ids


def test_every_edit_is_undone_exactly_and_done_again(graph: Graph) -> None:
    a, b, c, d = chain(graph, 4)
    edits = [
        lambda: graph.delete_node(b),
        lambda: graph.update_node(c, prompt="new", tags=["x"]),
        lambda: graph.disconnect_nodes(c, d),
        lambda: graph.connect_nodes(a, d, "short"),
        lambda: graph.remove_node_from_flow("main", c),
        lambda: graph.create_node("late", parents=[a]),
        lambda: graph.rebuild_flow("main", [d, a]),
        lambda: graph.update_flow("main", nodes=[a, c, d], connections=[Connection(d, c), Connection(c, a, "back")]),
        lambda: graph.update_flow("main", name="first", description="said", nodes=[d, a, c]),
        lambda: graph.create_flow("second", "another"),
        lambda: graph.update_flow("second", description="something else"),
        lambda: graph.delete_nodes([a, c, d]),
    ]
    history = EditHistory(graph)
    states = [state(graph)]
    for edit in edits:
        history.do(edit)
        states.append(state(graph))
    assert [node.prompt for node in graph.list_nodes()] == ["late"]
    for earlier in reversed(states[:-1]):
        assert history.undo()
        assert state(graph) == earlier
    assert not history.undo()
    for later in states[1:]:
        assert history.redo()
        assert state(graph) == later
    assert not history.redo()


def test_an_undo_keeps_what_others_did_meanwhile(graph: Graph) -> None:
    a, b, c = chain(graph, 3)
    inverse = graph.apply(GraphChange(remove=(b,)))
    late = graph.create_node("late", parents=[c]).id
    graph.apply(inverse)
    flow = graph.get_flow()
    assert set(flow.connections) == {Connection(a, b), Connection(b, c), Connection(c, late)}


def test_a_node_that_came_back_among_others_can_be_continued(graph: Graph) -> None:
    first = graph.create_node("p").id
    gone, other = (graph.create_node(prompt, parents=[first]).id for prompt in ("gone", "other"))
    history = EditHistory(graph)
    history.do(lambda: graph.delete_node(gone))
    assert history.undo()
    late = graph.create_node("late", parents=[gone]).id
    after = {Connection(first, gone), Connection(first, other), Connection(gone, late)}
    assert set(Graph(graph.data_dir).get_flow().connections) == after


def test_an_undo_takes_back_its_own_fields_alone(graph: Graph) -> None:
    node = graph.create_node("p", "r").id
    history, other = EditHistory(graph), Graph(graph.data_dir)
    history.do(lambda: graph.update_node(node, tags=["mine"]))
    other.update_node(node, response="edited by another process")
    other.save_summary(node, "theirs")
    assert history.undo()
    left = graph.get_node(node)
    assert (left.tags, left.response, left.summary) == ([], "edited by another process", "theirs")
    history.do(lambda: graph.update_node(node, prompt="asked better"))
    other.update_node(node, prompt="asked otherwise", tags=["theirs"])
    with pytest.raises(ChangedSince, match="changed meanwhile"):
        history.undo()
    assert (graph.get_node(node).prompt, graph.get_node(node).tags) == ("asked otherwise", ["theirs"])
    assert not history.undo()


def test_a_summary_is_due_unless_it_was_built_from_just_these_texts(graph: Graph) -> None:
    node = graph.create_node("p", "r").id
    graph.save_summary(node, "of p and r")
    history = EditHistory(graph)
    history.do(lambda: graph.update_node(node, prompt="q"))
    assert history.undo() and not graph.get_node(node).updated
    assert history.redo() and graph.get_node(node).updated
    graph.update_node(node, response="s")
    assert history.undo() and graph.get_node(node).updated
    for _ in range(2):  # the second time it was not due before
        history.do(lambda: graph.update_node(node, prompt="q"))
        graph.save_summary(node, "of q and s")
        assert not graph.get_node(node).updated
        assert history.undo() and graph.get_node(node).updated
        graph.save_summary(node, "of p and s")


def test_a_node_that_others_work_with_is_not_taken_back(graph: Graph) -> None:
    history = EditHistory(graph)
    for meddle in (
        lambda node: graph.create_node("later", parents=[node]),
        lambda node: graph.update_node(node, response="edited"),
        lambda node: graph.add_node_to_flow(graph.create_flow("other").id, node),
        lambda node: graph.update_node(node, tags=["theirs"]),
        lambda node: graph.update_node(node, note="ask again", pinned=True),
        lambda node: graph.update_node(node, summary="in other words"),
    ):
        node = history.do(lambda: graph.create_node("p", "r")).id
        meddle(node)
        before = state(graph)
        with pytest.raises(ChangedSince):
            history.undo()
        assert state(graph) == before
    node = history.do(lambda: graph.create_node("p", "r")).id
    graph.save_summary(node, "built meanwhile")
    assert history.undo()


def test_a_flow_is_made_and_taken_back_in_its_turn(graph: Graph) -> None:
    history = EditHistory(graph)
    node = history.do(lambda: graph.create_node("p", "r")).id
    flow = history.do(lambda: graph.create_flow("new", "about"))
    assert history.undo()
    assert [each.name for each in graph.list_flows()] == ["main"]
    assert graph.get_node(node)
    assert history.redo()
    assert graph.get_flow("new").id == flow.id
    graph.add_node_to_flow("new", node)
    with pytest.raises(ChangedSince):
        history.undo()
    assert graph.get_flow("new").nodes == [node]
    graph.close()
    assert graph.check() == []


def test_a_name_that_others_gave_stays(graph: Graph) -> None:
    graph.create_flow("a")
    history = EditHistory(graph)
    history.do(lambda: graph.update_flow("a", name="b", description="said"))
    graph.update_flow("b", name="c")
    with pytest.raises(ChangedSince):
        history.undo()
    assert (graph.get_flow("c").name, graph.get_flow("c").description) == ("c", "said")


def test_a_branch_name_and_an_opened_flow_of_others_stay(graph: Graph) -> None:
    first, second, _ = chain(graph, 3)
    one, two = graph.create_flow("one"), graph.create_flow("two")
    history = EditHistory(graph)
    for ours, theirs in (
        (lambda: graph.name_branch(first, second, "a"), lambda: graph.name_branch(first, second, "b")),
        (lambda: graph.link_flow(first, one.id), lambda: graph.link_flow(first, two.id)),
    ):
        history.do(ours)
        assert history.undo() and history.redo()
        theirs()
        before = state(graph)
        with pytest.raises(ChangedSince):
            history.undo()
        assert state(graph) == before
    assert graph.get_flow().connections[0].branch == "b" and graph.get_flow().entries[0].flow == two.id


def test_a_flow_that_comes_back_is_without_the_nodes_that_others_deleted(graph: Graph) -> None:
    first, second, third = chain(graph, 3)
    graph.create_flow("line")
    graph.rebuild_flow("line", [first, second, third])
    history = EditHistory(graph)
    history.do(lambda: graph.delete_flow("line"))
    graph.delete_node(third)
    assert history.undo()
    assert graph.get_flow("line").nodes == [first, second]
    graph.close()
    assert graph.check() == []
    assert history.redo()


def test_an_update_of_a_flow_is_whole_or_not_at_all(graph: Graph) -> None:
    a, b, c = chain(graph, 3)
    graph.create_flow("taken")
    before = state(graph)
    with pytest.raises(BadRequest, match="already"):
        graph.update_flow("main", name="taken", nodes=[c, a])
    assert state(graph) == before
    history = EditHistory(graph)
    history.do(lambda: graph.update_flow("main", name="new", nodes=[c, b, a]))
    assert graph.get_flow("new").connections == [Connection(c, b), Connection(b, a)]
    assert history.undo() and not history.undo()
    assert state(graph) == before


def test_an_action_that_fails_halfway_leaves_nothing(graph: Graph) -> None:
    (a,) = chain(graph, 1)
    before = state(graph)
    history = EditHistory(graph)

    def act() -> None:
        graph.update_node(a, tags=["x"])
        graph.update_node(a, tags=["y"])
        graph.create_flow("half")
        graph.delete_node("nowhere")

    with pytest.raises(NotFound):
        history.do(act)
    assert state(graph) == before
    assert not history.undo()


def test_an_undo_that_is_stopped_halfway_leaves_what_the_action_left(graph: Graph) -> None:
    a, b = chain(graph, 2)
    history = EditHistory(graph)
    history.do(
        lambda: [graph.update_node(each, tags=[tag]) for each, tag in ((a, "ours"), (b, "between"), (b, "ours"))]
    )
    graph.update_node(a, tags=["theirs"])
    with pytest.raises(ChangedSince):
        history.undo()
    assert [graph.get_node(each).tags for each in (a, b)] == [["theirs"], ["ours"]]


def test_an_action_that_edits_twice_is_undone_backwards_and_done_again_forwards(graph: Graph) -> None:
    (a,) = chain(graph, 1)
    history = EditHistory(graph)

    def act() -> str:
        graph.update_node(a, prompt="between")
        graph.update_node(a, prompt="after")
        return graph.create_node("late", parents=[graph.create_node("new", parents=[a]).id]).id

    states = [state(graph)]
    last = history.do(act)
    states.append(state(graph))
    assert graph.get_node(a).prompt == "after" and graph.get_node(last)
    for _ in range(2):
        assert history.undo() and state(graph) == states[0]
        assert history.redo() and state(graph) == states[1]


def test_a_new_edit_forgets_what_could_be_done_again(graph: Graph) -> None:
    (a,) = chain(graph, 1)
    history = EditHistory(graph)
    history.do(lambda: graph.update_node(a, tags=["x"]))
    assert history.undo()
    history.do(lambda: graph.update_node(a, tags=["y"]))
    assert not history.redo()
    assert graph.get_node(a).tags == ["y"]
    assert history.undo() and history.redo()
    history.do(lambda: None)
    assert history.undo()


FIELDS = ("prompt", "response", "tags")
writings = st.lists(
    st.tuples(st.sampled_from(["ours", "theirs", "undo", "redo"]), st.sampled_from(FIELDS), st.sampled_from("abc")),
    max_size=12,
)


@given(writings)
def test_of_two_writers_neither_loses_a_field_to_the_others_undo(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
) -> None:
    graph = Graph(tmp_path_factory.mktemp("graph"))
    node = graph.create_node("a", "a", tags=["a"]).id
    other, history = Graph(graph.data_dir), EditHistory(graph)

    def fields() -> dict[str, str]:
        held = graph.get_node(node)
        return {"prompt": held.prompt, "response": held.response, "tags": "".join(held.tags)}

    done: list[tuple[str, str, str]] = []
    undone: list[tuple[str, str, str]] = []
    for who, field, text in steps:
        before, wanted = fields(), {field: [text] if field == "tags" else text}
        if who == "theirs":
            other.update_node(node, **wanted)  # type: ignore[arg-type]
        elif who == "ours":
            history.do(lambda wanted=wanted: graph.update_node(node, **wanted))  # type: ignore[misc]
            if before[field] != text:
                done.append((field, before[field], text))
                undone.clear()
        else:
            source, target = (done, undone) if who == "undo" else (undone, done)
            turn = history.undo if who == "undo" else history.redo
            if not source:
                assert not turn()
                continue
            changed_field, back, left = source.pop()
            if before[changed_field] == left:
                assert turn()
                assert fields() == before | {changed_field: back}
                target.append((changed_field, left, back))
            else:
                with pytest.raises(ChangedSince):
                    turn()
                assert fields() == before
    graph.close()
    other.close()


def test_one_change_makes_edits_and_removes(graph: Graph) -> None:
    a, b, c = chain(graph, 3)
    new, flow = replace(graph.get_node(a), id="new"), graph.get_flow()
    flow = replace(flow, entries=flow.entries[:1], edges=())
    before = state(graph)
    inverse = graph.apply(
        GraphChange(
            create=(new,),
            edit=(NodeEdit(graph.get_node(a), replace(graph.get_node(a), note="said")),),
            remove=(b, c),
            create_flows=tuple(replace(flow, id=f"{name}-id", name=name) for name in ("one", "two")),
        )
    )
    read_anew = Graph(graph.data_dir)
    assert {node.id: node.note for node in read_anew.list_nodes()} == {"new": "", a: "said"}
    assert {each.name: each.nodes for each in read_anew.list_flows()} == {"main": [a], "one": [a], "two": [a]}
    graph.apply(inverse)
    assert state(Graph(graph.data_dir)) == before


def test_an_edit_of_a_flow_tells_when_it_was(graph: Graph) -> None:
    chain(graph, 1)
    graph.apply(GraphChange(create_flows=(replace(graph.get_flow(), id="x", name="x", updated=LONG_AGO),)))
    assert graph.get_flow("x").updated == LONG_AGO
    graph.update_flow("x", description="said")
    assert graph.get_flow("x").updated > LONG_AGO


def test_a_change_is_all_or_nothing(graph: Graph) -> None:
    a, b = chain(graph, 2)
    before = state(graph)
    heard: list[str] = []
    graph.subscribe(lambda name, _: heard.append(name))
    with pytest.raises(CycleError):
        graph.apply(
            GraphChange(
                flows=(FlowChange("main", connect=(Connection(b, a),)),),
                edit=(NodeEdit(graph.get_node(a), replace(graph.get_node(a), summary="new")),),
            )
        )
    with pytest.raises(NotFound):
        graph.apply(GraphChange(remove=(a,), flows=(FlowChange("main", disconnect=(Connection(b, a),)),)))
    with pytest.raises(BadRequest, match="already"):
        graph.apply(GraphChange(create=(graph.get_node(a),)))
    assert state(graph) == before
    assert state(Graph(graph.data_dir)) == before
    assert heard == []


def test_what_could_not_be_written_is_not_in_memory_either(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = chain(graph, 2)
    with monkeypatch.context() as patch:
        patch.setattr(graph._store.disk, "commit", lambda _: (_ for _ in ()).throw(OSError("the disk is gone")))
        for edit in (lambda: graph.create_node("c", parents=[b]), lambda: graph.disconnect_nodes(a, b)):
            with pytest.raises(OSError, match="the disk is gone"):
                edit()
            assert (graph.get_flow().nodes, graph.get_flow().connections) == ([a, b], [Connection(a, b)])
    c = graph.create_node("c", parents=[b]).id
    assert Graph(graph.data_dir).get_flow().nodes == [a, b, c]


def test_a_rewired_flow_is_one_commit(graph: Graph) -> None:
    ids = chain(graph, 6)
    heard: list[str] = []
    graph.subscribe(lambda name, _: heard.append(name))
    wanted = [Connection(ids[0], each, str(number)) for number, each in enumerate(ids[1:])]
    flow = graph.update_flow("main", connections=wanted)
    assert flow.connections == wanted
    assert heard == ["flow_updated"]
    with pytest.raises(CycleError):
        graph.update_flow("main", nodes=ids[:2], connections=[Connection(ids[0], ids[1]), Connection(ids[1], ids[0])])
    assert graph.get_flow().connections == wanted


def test_events_carry_the_node_and_its_place(graph: Graph) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []
    graph.subscribe(lambda name, data: heard.append((name, data)))
    first = graph.create_node("p", "r")
    second = graph.create_node("q", "s", parents=[first.id], branch="b")
    changed_node = graph.update_node(second.id, response="t")
    built = graph.save_summary(second.id, "short")
    graph.delete_node(first.id)
    created = [data for name, data in heard if name == "node_created"]
    assert [data["node"] for data in created] == [first, second]
    assert created[1]["parents"] == [Connection(first.id, second.id, "b")]
    assert created[1]["flow_id"] == graph.get_flow().id
    rest = [(name, data.get("node")) for name, data in heard if name not in ("node_created", "flow_updated")]
    assert rest == [("node_updated", changed_node), ("summary_built", built), ("node_deleted", None)]
    changes = [data["change"] for name, data in heard if name == "flow_updated"]
    assert changes[1].connect == (Connection(first.id, second.id, "b"),)
    assert changes[-1].drop == (first.id,)


PAIRS = [(str(source), str(target)) for source in range(1, 6) for target in range(source + 1, 7)]
flows = st.lists(st.sampled_from(PAIRS), max_size=8, unique=True).map(
    lambda pairs: rewired(Flow("f", "main"), ["1", "2", "3"], [Connection(source, target) for source, target in pairs])
)


@given(flows, flows)
def test_a_difference_leads_from_one_flow_to_the_other(old: Flow, new: Flow) -> None:
    after = changed(old, difference(old, new))
    assert after == new
    assert changed(after, difference(after, old)) == old


# Ids


def test_a_unique_beginning_of_an_id_stands_for_it(graph: Graph) -> None:
    ids = chain(graph, 3)
    short = graph.shortest_unique_ids(ids)
    for each in ids:
        assert graph.resolve_id(short[each]) == each
        assert graph.resolve_id(each) == each
        assert graph.resolve_id(f" {short[each].upper()} ") == each
        assert len(short[each]) < len(each)
    with pytest.raises(AmbiguousId) as caught:
        graph.resolve_id(ids[0][:8])
    assert set(caught.value.candidates) == set(ids)
    assert ids[0] in str(caught.value)
    for wrong in ("zzz", "", "  "):
        with pytest.raises(NotFound):
            graph.resolve_id(wrong)


def test_a_node_that_cannot_be_read_is_no_candidate(graph: Graph) -> None:
    for node_id in ("abc1", "abc2"):
        graph.add_turn(texts=(), node_id=node_id)
    graph.close()
    (Path(graph.data_dir) / "nodes/000/001.xml").write_text("<node id='abc2'>", encoding="utf-8")
    assert len(graph.list_nodes()) == 1
    assert graph.resolve_id("abc") == "abc1"


def test_an_id_that_begins_another_stands_for_itself(graph: Graph) -> None:
    for node_id in ("abc", "abcd"):
        graph.add_turn(texts=(), node_id=node_id)
    assert graph.resolve_id("abc") == "abc"
    assert graph.resolve_id("abcd") == "abcd"


@given(st.sets(st.text("ab", min_size=6, max_size=9), min_size=1, max_size=8))
def test_shortest_beginnings_are_unique_and_no_longer_than_needed(ids: set[str]) -> None:
    for each, short in shortest_unique(ids, at_least=1).items():
        assert each.startswith(short)
        others = [other for other in ids if other != each]
        assert short == each or not any(other.startswith(short) for other in others)
        assert len(short) == 1 or any(other.startswith(short[:-1]) for other in others)


# What others change


def test_a_watch_names_the_nodes_whose_files_changed_whoever_did_it(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "FULL_LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(watch, "FULL_LOOK_SHARE", 0)
    first = graph.create_node("p")
    look = graph.watch_nodes()
    look()
    assert look() == []
    second = graph.create_node("q")
    with Graph(graph.data_dir) as other:
        third = other.create_node("r", parents=[first.id])
    assert set(look()) == {second.id, third.id}
    other = Graph(graph.data_dir)
    other.update_node(first.id, prompt="new")
    assert look() == [first.id]
    path = Path(graph.data_dir) / "nodes/000/001.xml"
    path.write_text(path.read_text("utf-8").replace("q", "by hand"), encoding="utf-8")
    assert look() == [second.id]
    (Path(graph.data_dir) / "nodes").rename(Path(graph.data_dir) / "away")
    (Path(graph.data_dir) / "nodes").write_text("in the way", encoding="utf-8")
    with pytest.raises(BadFile, match="not a folder"):
        look()


def long_flow(length: int) -> Flow:
    entries = tuple(FlowEntry(number, f"node-{number}") for number in range(1, length + 1))
    return Flow("f", "main", entries=entries, edges=tuple(Edge(n, n + 1) for n in range(1, length)))


@pytest.mark.slow
def test_the_inverse_of_a_turn_costs_little_in_a_long_flow() -> None:
    before = long_flow(20_000)
    entries, edges = (*before.entries, FlowEntry(20_001, "new")), (*before.edges, Edge(7, 20_001, "other"))
    after = replace(before, entries=entries, edges=edges)

    def cpu_s(call: Callable[[], object]) -> float:
        started = time.process_time()
        call()
        return time.process_time() - started

    def whole() -> object:
        return set(before.connections)

    inverse = difference(after, before)

    assert inverse.leave == ("new",) and inverse.release == (Connection("node-7", "new", "other"),)
    assert not inverse.add and not inverse.connect
    assert changed(after, inverse) == before
    taken = min(cpu_s(lambda: difference(after, before)) for _ in range(5))
    assert taken < min(cpu_s(whole) for _ in range(5)) / 4


@pytest.mark.parametrize("longer", [True, False])
def test_an_inverse_says_what_stands_before_the_end_as_well(longer: bool) -> None:
    before = long_flow(5)
    moved = (*before.edges[:2], Edge(2, 5), *before.edges[3:])
    entries = (*before.entries, FlowEntry(6, "new")) if longer else before.entries[:1] + before.entries[2:]
    after = replace(before, entries=entries, edges=moved if longer else (Edge(1, 3), *before.edges[2:]))

    assert changed(after, difference(after, before)) == before
    assert changed(before, difference(before, after)) == after
