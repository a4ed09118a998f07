"""vizprompt undo and redo: every command that changes the graph is one step, taken back by a later process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nebula.graph.graph import Graph
from nebula.value import replace
from vizprompt_command import Vizprompt


class Place:
    """one → two → three, one → side; `apart` in no flow; `other` is an empty flow."""

    def __init__(self, folder: Path) -> None:
        self.run = Vizprompt(folder)
        self.data = folder / "project"
        with Graph(self.data) as graph:
            self.one = graph.create_node("one", "r", tags=["bug"]).id
            self.two = graph.create_node("two", "r", parents=[self.one], summary="short").id
            self.three = graph.create_node("three", "r", parents=[self.two]).id
            self.side = graph.create_node("side", "r", parents=[self.one]).id
            self.apart = graph.create_node("apart", "r", flow=graph.create_flow("old").id).id
            graph.delete_flow("old")
            graph.create_flow("other")
            graph.update_flow(graph.create_flow("past").id, archived=True)

    def state(self) -> tuple[Any, ...]:
        with Graph(self.data) as graph:
            flows = sorted((replace(flow, updated="") for flow in graph.list_flows()), key=lambda flow: flow.name)
            return flows, sorted(graph.list_nodes(), key=lambda node: node.id)


Words = Callable[[Place], list[str]]
EDITS: dict[str, Words] = {
    "a text, a summary and tags": lambda p: ["node", "edit", p.two, "--prompt=b", "--summary=s", "--tags=x"],
    "an answer": lambda p: ["node", "edit", p.two, "--response=better"],
    "a pin": lambda p: ["node", "pin", p.two],
    "a note": lambda p: ["node", "note", p.two, "later"],
    "a node that goes": lambda p: ["node", "delete", p.two, "--yes"],
    "a branch that goes": lambda p: ["node", "delete", p.two, "--branch", "--yes"],
    "a node that comes": lambda p: [
        "create-node",
        "--prompt=new",
        "--response=r",
        "--parent",
        p.two,
        "--parent",
        p.side,
    ],
    "a flow's name": lambda p: ["flow", "rename", "main", "first"],
    "a flow put away": lambda p: ["flow", "archive", "main"],
    "a flow brought back": lambda p: ["flow", "unarchive", "past"],
    "a flow that goes": lambda p: ["flow", "delete", "main"],
    "a flow that comes": lambda p: ["flow", "create", "new"],
    "a side track": lambda p: ["flow", "nest", p.two, "track"],
    "a node that opens a flow": lambda p: ["flow", "link", p.two, "other"],
    "a node taken into a flow": lambda p: ["flow", "add", p.apart, "--flow", "other"],
    "a branch that moves": lambda p: ["flow", "move", p.two, "other"],
    "a branch that is copied": lambda p: ["flow", "move", p.two, "other", "--copy"],
    "a branch's name": lambda p: ["flow", "name", p.one, p.side, "try"],
    "a connection": lambda p: ["flow", "connect", p.side, p.three],
    "a connection that goes": lambda p: ["flow", "disconnect", p.one, p.two],
    "a branch that begins": lambda p: ["flow", "branch", p.two, "new try", "--prompt=again"],
    "a chain": lambda p: ["flow", "rebuild", "main", p.three, p.one],
    "a tag everywhere": lambda p: ["tag", "rename", "bug", "defect"],
}


@pytest.mark.parametrize("name", EDITS)
def test_each_command_is_one_step_that_comes_back(tmp_path: Path, name: str) -> None:
    place = Place(tmp_path)
    before, words = place.state(), EDITS[name](place)
    assert place.run(*words).code == 0
    after = place.state()
    assert after != before
    undone = place.run("undo")
    assert undone.code == 0 and undone.out.startswith(f"Undone: {words[0]} ")
    assert place.state() == before
    assert place.run("undo").code == 1  # it was one step, and looking is none
    assert place.run("redo").out.startswith(f"Done again: {words[0]} ")
    assert place.state() == after


def test_commands_are_undone_from_the_last_one_back(tmp_path: Path) -> None:
    place = Place(tmp_path)
    for name in ("a", "b", "c"):
        place.run("flow", "create", name)
    assert [place.run("undo").out for _ in range(2)] == ["Undone: flow create c\n", "Undone: flow create b\n"]
    assert place.run("redo").out == "Done again: flow create b\n"
    place.run("flow", "create", "d")  # forgets c
    assert place.run("redo").code == 1 and place.run("redo").err == "There is nothing to do again.\n"
    assert place.run("undo").out == "Undone: flow create d\n"


def test_what_was_changed_since_stays_and_is_named(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.run("node", "note", place.one, "mine")
    with Graph(place.data) as graph:
        graph.update_node(place.one, note="theirs")
    refused = place.run("undo")
    assert refused.code == 1 and "was changed meanwhile" in refused.err
    with Graph(place.data) as graph:
        assert graph.get_node(place.one).note == "theirs"
    assert place.run("undo").err == "There is nothing to undo.\n"


def test_no_more_than_twenty_are_kept_and_nobody_else_may_read_them(tmp_path: Path) -> None:
    place = Place(tmp_path)
    for number in range(22):
        place.run("node", "note", place.one, str(number))
    [folder] = tmp_path.glob("home/projects/*/edits")
    files = sorted(folder.iterdir())
    assert len(files) == 20 and all(each.stat().st_mode & 0o077 == 0 for each in (folder, *files))
    assert not list(place.data.rglob("*.done"))
    files[-1].write_text("half of it")
    broken = place.run("undo")
    assert broken.code == 1 and files[-1].name in broken.err and not files[-1].exists()  # out of the way


def test_a_failed_command_leaves_nothing_to_undo(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert place.run("flow", "connect", place.three, place.one).code == 1  # a circle
    assert place.run("undo").code == 1


def test_the_graph_of_a_project_has_it_as_well(tmp_path: Path) -> None:
    with Graph(tmp_path / ".nebula" / "graph") as graph:
        node = graph.create_node("asked", "answered", tags=["bug"])
    run = Vizprompt(tmp_path, program="nebula")
    assert run("graph", "tag", "rename", "bug", "defect").code == 0
    assert run("graph", "undo").out == "Undone: tag rename bug defect\n"
    with Graph(tmp_path / ".nebula" / "graph") as graph:
        assert graph.get_node(node.id).tags == ["bug"]


def test_an_undone_command_is_told_as_such_though_it_cannot_be_done_again(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.run("flow", "create", "new")
    [done] = tmp_path.glob("home/projects/*/edits/*.done")
    done.with_suffix(".undone").mkdir()
    ran = place.run("undo")
    assert (ran.code, ran.out) == (0, "Undone: flow create new\n")
    assert ran.err == "This cannot be done again later: Is a directory\n"
