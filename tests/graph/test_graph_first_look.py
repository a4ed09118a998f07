"""What is shown first of a graph that is new to this machine does not wait for the rest of it."""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path

import pytest

from nebula.graph.disk import files
from nebula.graph.errors import BadFile
from nebula.graph.flows.topology import first_turns
from nebula.graph.graph import Graph
from nebula.graph.housekeeping import Housekeeper
from nebula.graph.values import Beginning, Node, Utterance

PATIENCE_S = 60


@pytest.fixture
def talk(tmp_path: Path) -> dict[str, Node]:
    """A conversation, its first prompt asked once more, and another one; with the index of a large folder, and no cache."""
    with Graph(tmp_path) as graph:
        first = graph.add_turn(texts=[Utterance("user", "why?")])
        again = graph.add_turn(texts=[Utterance("user", "why <beginning>?")], beginning=first.id)
        below = graph.add_turn(texts=[Utterance("user", "and?")], parents=[again.id])
        other = graph.add_turn(texts=[Utterance("user", "what is <beginning>?")])
        derived = graph._store.disk.derived
    with (tmp_path / "nodes/index.tsv").open("a", encoding="ascii") as index:
        index.writelines(f"900/{number:03}.xml\tgone-{number:060}\t{first.timestamp}\n" for number in range(4000))
    shutil.rmtree(derived)
    return {"first": first, "again": again, "below": below, "other": other}


def test_how_conversations_began_is_known_before_anything_was_read(tmp_path: Path, talk: dict[str, Node]) -> None:
    with Graph(tmp_path) as graph:
        ids = first_turns(graph.get_flow())
        begun = graph.list_beginnings([*ids, "nothing"])
        assert begun == {
            talk["first"].id: Beginning(talk["first"].timestamp),
            talk["again"].id: Beginning(talk["again"].timestamp, talk["first"].id),
            talk["other"].id: Beginning(talk["other"].timestamp),
        }
        assert not Path(graph._store.disk.derived, "graph.db").exists()
        assert len(graph.search_nodes()) == 4  # now all of it is read
        assert graph.list_beginnings(ids) == begun


def test_many_nodes_are_had_at_once_before_anything_was_read(tmp_path: Path, talk: dict[str, Node]) -> None:
    (tmp_path / "nodes/000/003.xml").write_text("no node", encoding="utf-8")
    wanted = [talk["below"].id, "nothing", talk["other"].id, talk["first"].id]
    for reading in ("before", "after"):
        with Graph(tmp_path) as graph:
            if reading == "after":
                graph.search_nodes()
            below, other, first = (found := graph.get_nodes(wanted)).values()
            assert list(found) == [talk["below"].id, talk["other"].id, talk["first"].id]
            assert isinstance(other, BadFile) and [below, first] == [talk["below"], talk["first"]]


def test_a_node_that_stands_elsewhere_than_the_index_says_is_found(tmp_path: Path, talk: dict[str, Node]) -> None:
    (tmp_path / "nodes/000/002.xml").rename(tmp_path / "nodes/000/077.xml")
    with Graph(tmp_path) as graph:
        assert graph.get_nodes([talk["below"].id]) == {talk["below"].id: talk["below"]}


def test_whoever_waits_for_all_nodes_keeps_nobody_from_reading_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Graph(tmp_path) as graph:
        node = graph.create_node("question")
        monkeypatch.setattr(files, "_TICK_NS", 0)  # as if the folder had been made long ago
        assert graph.list_tags() == {}
        graph._store.node_cache._scan_at = 0.0
        edited = tmp_path / "nodes/000/000.xml"
        edited.write_text(edited.read_text("utf-8") + "\n", encoding="utf-8")
        waiting = threading.Thread(target=graph.list_tags)
        found: list[Node] = []
        reading = threading.Thread(target=lambda: found.append(graph.get_node(node.id)))
        with graph._store.node_cache._database.writing:  # as who fills the cache
            waiting.start()
            while not is_in(waiting, "reread"):
                assert waiting.is_alive()
            reading.start()
            reading.join(PATIENCE_S)
            assert found
        waiting.join(PATIENCE_S)


@pytest.mark.parametrize(("ask", "interrupted"), [("call", False), ("wake", True)])
def test_asking_how_far_the_reading_is_does_not_make_it_begin_again(ask: str, interrupted: bool) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    made_way: list[bool] = []

    def work() -> None:
        begun.set()
        assert go_on.wait(PATIENCE_S)
        made_way.append(keeper.should_make_way())
        ended.set()

    keeper = Housekeeper(work, idle=0.0)
    keeper.call()
    assert begun.wait(PATIENCE_S)
    getattr(keeper, ask)()
    go_on.set()
    assert ended.wait(PATIENCE_S)
    keeper.stop()
    assert made_way[0] is interrupted


def is_in(thread: threading.Thread, name: str) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code.co_name != name:
        frame = frame.f_back
    return frame is not None
