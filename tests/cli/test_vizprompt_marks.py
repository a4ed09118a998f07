"""vizprompt node pin and note, tag, flow archive, nest, link and add, and what search can be narrowed to, as commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from nebula.graph.graph import Graph
from nebula.graph.values import FileState, Utterance
from vizprompt_command import Vizprompt


@pytest.fixture
def vizprompt(tmp_path: Path) -> Vizprompt:
    return Vizprompt(tmp_path)


def test_a_node_is_pinned_noted_and_found_by_both(vizprompt: Vizprompt) -> None:
    node_id, _ = vizprompt.create("asked", "answered"), vizprompt.create("other", "x")
    assert vizprompt("node", "pin", node_id).code == 0
    assert vizprompt("node", "note", node_id, "when 2.0 is out").code == 0
    listed = vizprompt("node", "list", "--pinned")
    assert listed.out.count("\n") == 1 and "asked" in listed.out and "★" in listed.out
    assert [node["id"] for node in vizprompt("search", "--pinned", "--text", "out", "--json").json] == [node_id]
    shown = vizprompt("node", "show", node_id).out
    assert "pinned" in shown and "note: when 2.0 is out" in shown
    vizprompt("node", "unpin", node_id)
    assert vizprompt("node", "list", "--pinned").out == ""


def test_a_tag_is_renamed_and_taken_away(vizprompt: Vizprompt) -> None:
    vizprompt.create("p", "r", "--tags", "bug,ui")
    assert vizprompt("tag", "rename", "#bug", "defect").out == "Nodes changed: 1\n"
    assert vizprompt("tag", "list").out.split() == ["1", "#defect", "1", "#ui"]
    vizprompt("tag", "rename", "ui", "")
    assert vizprompt("tag", "list", "--json").json == {"defect": 1}


def test_an_archived_flow_is_out_of_the_list_and_numbers_stay(vizprompt: Vizprompt) -> None:
    for name in ("first", "second"):
        vizprompt("flow", "create", name)
    assert vizprompt("flow", "archive", "first").code == 0
    listed = vizprompt("flow", "list")
    assert "second" in listed.out and "first" not in listed.out and listed.out.lstrip().startswith("2.")
    assert "--archived" in listed.err
    assert [flow["name"] for flow in vizprompt("flow", "list", "--json").json] == ["second"]
    assert "archived" in vizprompt("flow", "list", "--archived").out
    vizprompt("flow", "unarchive", "1")
    assert "first" in vizprompt("flow", "list").out


def test_a_branch_is_nested_and_a_node_outside_comes_back(vizprompt: Vizprompt, tmp_path: Path) -> None:
    one = vizprompt.create("one", "r")
    two = vizprompt("flow", "branch", one, "on", "--prompt", "two").out.split()[-1]
    made = vizprompt("flow", "nest", one, "a side track")
    assert made.out == "Nodes put into a side track: 2\n"
    entries = vizprompt("flow", "show", "main", "--json").json["nodes"]
    assert [entry["id"] for entry in entries] == [one] and entries[0]["flow"]
    vizprompt("flow", "link", one)
    assert "flow" not in vizprompt("flow", "show", "main", "--json").json["nodes"][0]
    vizprompt("flow", "delete", "a side track")
    assert vizprompt("node", "list", "--outside", "--json").json[0]["id"] == two
    assert vizprompt("flow", "add", two).code == 0
    assert vizprompt("node", "list", "--outside").out == ""


def test_search_is_narrowed_by_time_model_and_file(vizprompt: Vizprompt, tmp_path: Path) -> None:
    with Graph(tmp_path / "project") as graph:
        for day, model, path in (("01", "big", "src/a.py"), ("02", "small", "src/b.py")):
            graph.add_turn(
                texts=[Utterance("user", f"day {day}")],
                timestamp=f"2026-01-{day}T12:00:00+00:00",
                model=model,
                files=[FileState(path, "", "x")],
            )

    def found(*options: str) -> list[str]:
        return [node["prompt"] for node in vizprompt("search", *options, "--json").json]

    assert found("--since", "2026-01-02T00:00:00+00:00") == ["day 02"]
    assert found("--until", "2026-01-01T23:00:00+00:00") == ["day 01"]
    assert found("--model", "small") == ["day 02"] and found("--file", "a.py") == ["day 01"]
    wrong = vizprompt("search", "--since", "yesterday")
    assert wrong.code == 64 and "2026-01-31" in wrong.err
