"""What a person marks: pinned turns, notes, archived flows, sub-flows, tags under another name; each is one step of undo."""

from __future__ import annotations

import pytest

from nebula.graph.errors import BadRequest, ChangedSince, NotFound
from nebula.graph.graph import Graph
from nebula.graph.undo import EditHistory


@pytest.fixture
def graph(tmp_path):
    with Graph(tmp_path / "data") as opened:
        yield opened


def line_of(graph, *prompts):
    ids = []
    for prompt in prompts:
        ids.append(graph.create_node(prompt, parents=ids[-1:]).id)
    return ids


def flow_text(graph, path="flows/000/000.yaml"):
    with open(f"{graph.data_dir}/{path}", encoding="utf-8") as file:
        return file.read()


def rewrite(graph, text, path="flows/000/000.yaml"):
    with open(f"{graph.data_dir}/{path}", "w", encoding="utf-8") as file:
        file.write(text)


def test_a_pinned_turn_is_found_and_its_note_as_well(graph):
    one, two = line_of(graph, "one", "two")
    edits = EditHistory(graph)
    marked = edits.do(lambda: graph.update_node(two, pinned=True, note="ask Aoi\n]]> first"))
    assert not marked.updated, "no summary is due for it"
    assert [node.id for node in graph.search_nodes(pinned=True)] == [two]
    assert [(node.id, node.note) for node in graph.search_nodes(text="Aoi")] == [(two, "ask Aoi\n]]> first")]
    assert edits.undo()
    assert graph.search_nodes(pinned=True) == [] and graph.get_node(two).note == ""
    assert graph.get_node(one).to_json().keys().isdisjoint({"pinned", "note"})


def test_an_element_that_is_taken_away_leaves_the_file_as_it_was(graph):
    (one,) = line_of(graph, "one")
    (path,) = graph.find_files([one])
    with open(path, encoding="utf-8") as file:
        before = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(before.replace("<metadata>", "<metadata><!-- by hand -->"))
    graph.update_node(one, pinned=True, note="n")
    graph.update_node(one, pinned=False, note="")
    with open(path, encoding="utf-8") as file:
        after = file.read()
    assert "<!-- by hand -->" in after and "pinned" not in after and "note" not in after


def test_a_tag_gets_another_name_everywhere_at_once(graph):
    for number, tags in enumerate((["bug", "ui"], ["Bug"], ["ui"])):
        graph.create_node(f"prompt {number}", tags=tags)
    edits = EditHistory(graph)
    assert len(edits.do(lambda: graph.rename_tag("BUG", "ui"))) == 2
    assert graph.list_tags() == {"ui": 3}
    assert sorted(node.tags for node in graph.list_nodes()) == [["ui"]] * 3, "each tag once"
    assert edits.undo()
    assert sorted(node.tags for node in graph.list_nodes()) == [["Bug"], ["bug", "ui"], ["ui"]]
    graph.rename_tag("ui", "")
    assert graph.list_tags() == {"Bug": 2}
    assert graph.rename_tag("nobody has it", "x") == []


def test_an_archived_flow_is_kept_as_it_is(graph):
    line_of(graph, "one", "two")
    before, edits = flow_text(graph), EditHistory(graph)
    edits.do(lambda: graph.update_flow("main", archived=True))
    assert 'description: ""\narchived: true\nnodes:' in flow_text(graph)
    with Graph(graph.data_dir) as again:
        assert again.get_flow("main").archived and again.get_flow("main").to_json()["archived"]
    assert edits.undo()
    assert flow_text(graph).splitlines()[4:] == before.splitlines()[4:], "but for the time of the last change"


def test_a_flow_file_of_a_person_keeps_its_comments_when_it_is_archived(graph):
    line_of(graph, "one", "two")
    mine = (
        flow_text(graph)
        .replace('description: ""', "description: |\n  my own\n  words")
        .replace("nodes:", "# what is in it\nnodes:  # all of them")
    )
    rewrite(graph, mine)
    graph.update_flow("main", archived=True)
    archived = flow_text(graph)
    assert "# what is in it\nnodes:  # all of them" in archived and graph.get_flow("main").archived
    rewrite(graph, archived.replace("archived: true", "archived: true  # for now"))
    graph.update_flow("main", archived=False)
    assert "archived: false  # for now" in flow_text(graph)
    assert not graph.get_flow("main").archived and graph.get_flow("main").description == "my own\nwords\n"


def test_a_branch_becomes_a_flow_of_its_own_that_its_first_turn_opens(graph):
    one, two, three, four = line_of(graph, "one", "two", "three", "four")
    before, edits = graph.get_flow(), EditHistory(graph)
    made = edits.do(lambda: graph.nest_branch(two, "research"))
    assert made.nodes == [two, three, four]
    assert [(c.source, c.target) for c in made.connections] == [(two, three), (three, four)]
    here = graph.get_flow()
    assert [(entry.id, entry.flow) for entry in here.entries] == [(one, ""), (two, made.id)]
    assert here.to_json()["nodes"][1]["flow"] == made.id
    with Graph(graph.data_dir) as again:
        assert again.get_flow().entries == here.entries, "as the file says"
    graph.create_node("five", parents=[one])
    assert edits.undo()
    assert [flow.name for flow in graph.list_flows()] == ["main"]
    assert graph.get_flow().nodes[:2] == before.nodes[:2] and set(before.nodes) < set(graph.get_flow().nodes)
    assert not any(entry.flow for entry in graph.get_flow().entries)
    assert set(before.connections) < set(graph.get_flow().connections)
    with pytest.raises(BadRequest):
        graph.nest_branch(two, "main")


def test_a_sub_flow_that_was_continued_is_not_taken_back(graph):
    _, two, _ = line_of(graph, "one", "two", "three")
    edits = EditHistory(graph)
    made = edits.do(lambda: graph.nest_branch(two, "research"))
    graph.create_node("more", flow=made.id)
    with pytest.raises(ChangedSince):
        edits.undo()
    assert len(graph.get_flow(made.id).nodes) == 3


def test_a_turn_opens_a_flow_that_is_there_and_comments_stay(graph):
    one, two = line_of(graph, "one", "two")
    other = graph.create_flow("other")
    rewrite(graph, flow_text(graph).replace("  - index: 2\n", "  # the second\n  - index: 2\n"))
    graph.link_flow(one, "other")
    assert "# the second" in flow_text(graph) and f"    flow: {other.id}\n" in flow_text(graph)
    assert [entry.flow for entry in graph.get_flow().entries] == [other.id, ""]
    graph.rebuild_flow("main", [two, one])
    assert [entry.flow for entry in graph.get_flow().entries] == ["", other.id]
    graph.link_flow(one, "")
    assert "flow:" not in flow_text(graph).replace("flows", "")
    with pytest.raises(BadRequest):
        graph.link_flow(one, "main")
    with pytest.raises(NotFound):
        graph.link_flow("nobody", "other")


def test_a_branch_named_in_the_middle_leaves_the_comments_of_the_others(graph):
    one, two, _ = line_of(graph, "one", "two", "three")
    rewrite(graph, flow_text(graph).replace("  - from: 2\n", "  # onwards\n  - from: 2\n"))
    graph.name_branch(one, two, "the way")
    assert "# onwards" in flow_text(graph) and "    branch: the way\n" in flow_text(graph)
