"""vizprompt flow and nebula graph, run as commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from vizprompt_command import Vizprompt


@pytest.fixture
def vizprompt(tmp_path: Path) -> Vizprompt:
    return Vizprompt(tmp_path)


def test_nodes_are_connected_drawn_and_disconnected(vizprompt: Vizprompt) -> None:
    ids = [vizprompt.create(f"prompt {i}") for i in range(1, 5)]
    for source, target in ((0, 1), (1, 2), (1, 3)):
        ran = vizprompt("flow", "connect", ids[source], ids[target], "--branch", "try")
        assert ran.code == 0 and ran.out == f"Connected: {ids[source]} → {ids[target]}\n"
    assert vizprompt("flow", "show", "main").out == "1→2<\n  2<3\n  2<4\n"
    flow = vizprompt("flow", "show", "main", "--json").json
    assert flow["connections"][0] == {"source": ids[0], "target": ids[1], "branch": "try"}
    assert vizprompt("flow", "show", flow["id"]).out == vizprompt("flow", "show", "1").out
    assert vizprompt("flow", "disconnect", ids[1], ids[2]).code == 0
    assert vizprompt("flow", "show", "main").out == "1→2→4\n3\n"
    with_nodes = vizprompt("flow", "show", "main", "--nodes").out
    assert f"1  {ids[0][:8]}" in with_nodes and "prompt 1" in with_nodes


def test_a_circle_is_refused(vizprompt: Vizprompt) -> None:
    first, second = vizprompt.create("a"), vizprompt.create("b")
    vizprompt("flow", "connect", first, second)
    ran = vizprompt("flow", "connect", second, first)
    assert ran.code == 1 and "cycle" in ran.err and ran.err.count("\n") == 1
    assert vizprompt("flow", "show", "main").out == "1→2\n"


def test_a_branch_begins_behind_a_node_and_a_flow_is_rebuilt(vizprompt: Vizprompt) -> None:
    first = vizprompt.create("a")
    second = vizprompt.create("b", "r", "--parent", first)
    branched = vizprompt("flow", "branch", first, "other way", "--prompt", "c")
    assert branched.code == 0 and branched.out.startswith("Created node: ")
    third = branched.out.split()[-1]
    assert vizprompt("flow", "show", "main").out == "1<\n  1<2\n  1<3\n"
    assert vizprompt("flow", "rebuild", "main", third, first, second).out == "1→2→3\n"
    assert vizprompt("flow", "show", "main", "--json").json["nodes"][0]["id"] == third
    listed = vizprompt("flow", "list")
    assert listed.code == 0 and "main (3)" in listed.out and listed.out.startswith("1. ")
    assert [flow["name"] for flow in vizprompt("flow", "list", "--json").json] == ["main"]
    log = vizprompt("flow", "show", "main", "--log").out
    assert log.index("[user]\nc") < log.index("[user]\na") < log.index("[user]\nb")


def test_a_flow_is_made_by_name_and_found_by_a_beginning_of_its_id(vizprompt: Vizprompt) -> None:
    made = vizprompt("flow", "create", "別の話題", "--description", "x")
    assert made.code == 0 and made.out.startswith("Created flow: ")
    flow_id = made.out.split()[-1]
    again = vizprompt("flow", "create", "別の話題")
    assert again.code == 0 and flow_id in again.out
    assert [flow["name"] for flow in vizprompt("flow", "list", "--json").json] == ["別の話題"]
    node = vizprompt.create("p", "r", "--flow", "別の話題")
    for name in (flow_id, flow_id[:-4], "1", "別の話題"):
        assert vizprompt("flow", "show", name, "--json").json["nodes"][0]["id"] == node
        assert vizprompt("flow", "rebuild", name, node).code == 0
    assert vizprompt("flow", "create", " ").code == 1


def test_a_flow_that_cannot_be_read_is_shown_as_that(vizprompt: Vizprompt, tmp_path: Path) -> None:
    vizprompt.create("p", "r")
    file = tmp_path / "project/flows/000/000.yaml"
    broken = "id: [broken\n"
    file.write_text(broken)
    listed = vizprompt("flow", "list")
    assert (listed.code, listed.out) == (0, "") and "flows/000/000.yaml cannot be read" in listed.err
    assert "読めません" in vizprompt("flow", "list", env={"NEBULA_LANG": "ja"}).err
    for words in (("flow", "show", "main"), ("flow", "create", "main"), ("create-node", "--prompt=a", "--response=b")):
        ran = vizprompt(*words)
        assert ran.code == 1 and "flows/000/000.yaml" in ran.err and ran.err.count("\n") == 1
    assert file.read_text() == broken and len(list(file.parent.glob("*.yaml"))) == 1
    (tmp_path / ".nebula").mkdir()
    (tmp_path / "project").rename(tmp_path / ".nebula/graph")
    shown = Vizprompt(tmp_path, program="nebula")("graph")
    assert "cannot be read" in shown.err and "empty" not in shown.err


def test_a_path_in_a_flow_that_cannot_be_read_is_not_shown_as_if_it_were_whole(
    vizprompt: Vizprompt, tmp_path: Path
) -> None:
    first = vizprompt.create("p", "r")
    last = vizprompt("flow", "branch", first, "b", "--prompt=q", "--response=s").out.split()[-1]
    with open(tmp_path / "project/flows/000/000.yaml", "a", encoding="utf-8") as file:
        file.write("x: [1\n")
    for words in (("context", last), ("export", last, "--branch", "--format=markdown")):
        ran = vizprompt(*words)
        assert ran.code == 0 and "q" in ran.out and "flows/000/000.yaml cannot be read" in ran.err


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("flow",), 64, "COMMAND"),
        (("flow", "draw"), 64, "draw"),
        (("flow", "show"), 64, "FLOW"),
        (("flow", "show", "nowhere"), 1, "nowhere"),
        (("flow", "show", "7"), 1, "7"),
        (("flow", "connect", "x"), 64, "DST"),
        (("flow", "connect", "x", "y"), 1, "x"),
        (("flow", "disconnect", "x", "y"), 1, "main"),
        (("flow", "rebuild", "main"), 64, "ID"),
        (("flow", "rebuild", "main", "x"), 1, "x"),
        (("flow", "branch", "x", "name"), 1, "x"),
    ],
)
def test_a_mistake_is_one_clear_line(vizprompt: Vizprompt, words: tuple[str, ...], code: int, hint: str) -> None:
    ran = vizprompt(*words)
    assert (ran.code, ran.out) == (code, "")
    assert hint in ran.err and ran.err.count("\n") == 1 and "Traceback" not in ran.err


@pytest.mark.slow
def test_nebula_graph_shows_the_same_for_the_project(vizprompt: Vizprompt, tmp_path: Path) -> None:
    nebula = Vizprompt(tmp_path, program="nebula")
    empty = nebula("graph")
    assert (empty.code, empty.out) == (0, "") and "empty" in empty.err
    assert not (tmp_path / ".nebula").exists()
    vizprompt.environment["VIZPROMPT_DATA_DIR"] = ".nebula/graph"
    first = vizprompt.create("first prompt")
    second = vizprompt.create("second prompt", "r", "--parent", first)
    shown = nebula("graph")
    assert shown.code == 0 and "1→2\n" in shown.out and "second prompt" in shown.out
    assert nebula("graph", "flow", "show", "main").out == "1→2\n"
    assert nebula("graph", "node", "show", second, "--json").json["prompt"] == "second prompt"
    assert [n["id"] for n in nebula("graph", "search", "--text", "first", "--json").json] == [first]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    away = Vizprompt(elsewhere, program="nebula")
    assert away("graph", "--root", "..", "flow", "show", "main").out == "1→2\n"
    assert away("graph", "flow", "show", "main", "--root=..").out == "1→2\n"
    for words in (("--root",), ("--root=", "flow", "list")):
        ran = nebula("graph", *words)
        assert ran.code == 64 and "--root needs a folder" in ran.err
    wrong = nebula("graph", "flwo")
    assert wrong.code == 64 and "flow" in wrong.err
    helped = nebula("graph", "--help")
    assert helped.code == 0 and "search" in helped.out


def test_what_a_flow_comes_to_is_said_in_words_and_not_by_the_names_of_fields(vizprompt: Vizprompt) -> None:
    vizprompt.create("prompt")
    said = vizprompt("flow", "count", "main").out
    assert "Branch points   0\n" in said and "Cost            $0.0000\n" in said and "_" not in said
    assert vizprompt("flow", "count", "main", "--json").json["branch_points"] == 0
