"""Undo and redo across commands: one step for each, newest first, and nothing where others have changed it since."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nebula.files.home import derived_folder
from nebula.graph.errors import BadFile, ChangedSince
from nebula.graph.graph import Graph
from nebula.graph.kept_edits import KEPT, KeptEdits
from nebula.graph.undo import EditHistory


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with Graph(tmp_path / "data") as opened:
        yield opened


def edit(graph: Graph, words: str, *actions: Callable[[], object]) -> None:
    """Do what a command does, in a program that ends after it."""
    with graph.recording() as inverses:
        for action in actions:
            action()
    KeptEdits(graph).keep(words, inverses)


def note(graph: Graph, node: str, text: str) -> None:
    edit(graph, f"note {text}", lambda: graph.update_node(node, note=text))


def kept(graph: Graph) -> list[str]:
    folder = os.path.join(derived_folder(graph.data_dir), "edits")
    return sorted(os.listdir(folder))


@contextmanager
def no_room() -> Iterator[None]:
    """Let no file take a byte, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_each_command_is_taken_back_by_its_words_and_done_again_in_order(graph: Graph) -> None:
    node = graph.create_node("one").id
    for text in ("日本", "b", "c"):
        note(graph, node, text)
    undone = []
    while (words := KeptEdits(graph).undo()) is not None:
        undone.append((words, graph.get_node(node).note))
    assert undone == [("note c", "b"), ("note b", "日本"), ("note 日本", "")]
    again = []
    while (words := KeptEdits(graph).redo()) is not None:
        again.append((words, graph.get_node(node).note))
    assert again == [("note 日本", "日本"), ("note b", "b"), ("note c", "c")]
    assert KeptEdits(graph).undo() == "note c" and graph.get_node(node).note == "b", "and back once more"
    names = [f"{number:08}-{os.getpid()}" for number in (1, 2, 3)]
    assert kept(graph) == [f"{names[0]}.done", f"{names[1]}.done", f"{names[2]}.undone"]


def test_all_that_a_command_did_is_one_step(graph: Graph) -> None:
    ids: list[str] = []

    def line() -> None:
        ids.append(graph.create_node("one").id)
        ids.append(graph.create_node("two", parents=ids[:1]).id)

    edit(graph, "a line", line, lambda: graph.update_node(ids[1], pinned=True))
    assert KeptEdits(graph).undo() == "a line" and graph.search_nodes() == []
    assert KeptEdits(graph).redo() == "a line"
    assert {node.id for node in graph.search_nodes()} == set(ids) and graph.get_node(ids[1]).pinned


def test_a_new_edit_forgets_what_could_have_been_done_again(graph: Graph) -> None:
    node = graph.create_node("one").id
    note(graph, node, "a")
    assert KeptEdits(graph).undo() == "note a"
    note(graph, node, "b")
    assert KeptEdits(graph).redo() is None and graph.get_node(node).note == "b"
    assert [KeptEdits(graph).undo(), KeptEdits(graph).undo()] == ["note b", None]


def test_what_others_changed_since_stays_and_that_edit_is_forgotten(graph: Graph) -> None:
    node = graph.create_node("one").id
    note(graph, node, "a")
    note(graph, node, "b")
    graph.update_node(node, note="by somebody else")
    with pytest.raises(ChangedSince):
        KeptEdits(graph).undo()
    assert graph.get_node(node).note == "by somebody else"
    assert KeptEdits(graph).redo() is None
    graph.update_node(node, note="a")
    assert KeptEdits(graph).undo() == "note a" and graph.get_node(node).note == ""


def test_only_so_many_edits_are_kept_the_newest(graph: Graph) -> None:
    node = graph.create_node("one").id
    for number in range(KEPT + 3):
        note(graph, node, str(number))
        assert len(kept(graph)) == min(number + 1, KEPT)
    taken = [KeptEdits(graph).undo() for _ in range(KEPT + 1)]
    assert taken == [f"note {number}" for number in range(KEPT + 2, 2, -1)] + [None]


def test_an_edit_is_taken_back_though_it_cannot_be_kept_for_doing_it_again(graph: Graph) -> None:
    node = graph.create_node("one").id
    note(graph, node, "a")
    note(graph, node, "b")
    folder = Path(derived_folder(graph.data_dir), "edits")
    (folder / kept(graph)[-1]).with_suffix(".undone").mkdir()
    edits = KeptEdits(graph)
    assert edits.undo() == "note b" and isinstance(edits.problem, IsADirectoryError)
    assert graph.get_node(node).note == "a"
    edits = KeptEdits(graph)
    assert edits.undo() == "note a" and edits.problem is None


def test_an_edit_that_finds_no_room_is_not_forgotten(graph: Graph) -> None:
    node = graph.create_node("one").id
    edit(graph, "two", lambda: graph.update_node(node, note="a"), lambda: graph.create_flow("new"))
    history = EditHistory(graph)
    history.do(lambda: graph.update_node(node, pinned=True))
    for undo in (KeptEdits(graph).undo, history.undo):
        with no_room(), pytest.raises(OSError):
            undo()
    assert history.undo() and KeptEdits(graph).undo() == "two"
    assert graph.get_node(node).note == "" and [flow.name for flow in graph.list_flows()] == ["main"]


@pytest.mark.parametrize("text", [b"", b"no json\n{}\n", b'"words"\nno json', b'"words"\n{"odd": 1}\n', b"\xff\n[]\n"])
def test_a_file_of_another_version_is_named_and_put_away(graph: Graph, text: bytes) -> None:
    node = graph.create_node("one").id
    note(graph, node, "a")
    folder = os.path.join(derived_folder(graph.data_dir), "edits")
    (name,) = kept(graph)
    Path(folder, name).write_bytes(text)
    Path(folder, "hand-made.done").write_bytes(b"nobody reads it")
    with pytest.raises(BadFile, match=name) as problem:
        KeptEdits(graph).undo()
    assert "this version cannot undo that edit" in str(problem.value)
    assert KeptEdits(graph).undo() is None, "and the next is not stopped by it"
    assert kept(graph) == ["hand-made.done"]


def test_nobody_else_can_read_what_is_kept(graph: Graph) -> None:
    note(graph, graph.create_node("one").id, "secret")
    folder = Path(derived_folder(graph.data_dir), "edits")
    (name,) = kept(graph)
    assert folder.stat().st_mode & 0o777 == 0o700 and (folder / name).stat().st_mode & 0o777 == 0o600


def test_what_takes_a_turn_back_is_as_short_in_a_long_flow(graph: Graph) -> None:
    sizes = []
    for count in (1, 400):
        graph.create_flow(str(count))
        graph.rebuild_flow(str(count), [graph.create_node("p", flow=str(count)).id for _ in range(count)])
        edit(graph, "a turn", lambda count=count: graph.create_node("q", flow=str(count)))  # type: ignore[misc]
        folder = Path(derived_folder(graph.data_dir), "edits")
        sizes.append((folder / kept(graph)[-1]).stat().st_size)
        before = graph.get_flow(str(count)).entries[:-1]
        assert KeptEdits(graph).undo() and graph.get_flow(str(count)).entries == before
        assert KeptEdits(graph).redo() and len(graph.get_flow(str(count)).entries) == count + 1
    assert sizes[1] < 1.1 * sizes[0]
