"""Flow files: seed 004 §5.1, and comments kept where the tool does not touch them (SPEC §11)."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from graph.graph_seed import FLOW_YAML, block
from nebula.graph.errors import BadFile, BadText
from nebula.graph.formats.flow_edit import edit
from nebula.graph.formats.flow_yaml import dump_flow, load_flow
from nebula.graph.formats.yaml_text import moment, scalar
from nebula.graph.values import Connection, Edge, Flow, FlowEntry
from rows import each_row

any_text = st.text(st.characters(exclude_categories=["Cs"]))
X = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"


def load(text: str) -> Flow:
    return load_flow(text.encode(), "flows/000/000.yaml").flow


def test_5_1_the_seeds_own_example_loads_as_it_stands() -> None:
    assert block("5.1", "yaml") in (None, FLOW_YAML)
    flow = load(FLOW_YAML)
    assert (flow.id, flow.name, flow.description) == (X, "メインフロー", "フローの説明")
    # Unquoted timestamps stay the text they are.
    assert (flow.created, flow.updated) == ("2025-05-07T10:00:00+09:00", "2025-05-08T13:55:22+09:00")
    assert flow.entries == tuple(FlowEntry(number, X) for number in (1, 2, 3, 4))
    assert flow.edges == (Edge(1, 2), Edge(1, 3), Edge(2, 4), Edge(3, 4))
    assert flow.connections[0] == Connection(X, X)


def test_5_1_a_flow_is_written_in_the_seeds_shape() -> None:
    flow = replace(load(FLOW_YAML), edges=(Edge(1, 2), Edge(1, 3, "別案")))
    plain = "".join(line for line in FLOW_YAML.splitlines(keepends=True) if "#" not in line)
    wanted = plain[: plain.index("  - from: 2")] + "    branch: 別案\n"
    assert dump_flow(flow) == wanted


names = any_text.filter(str.strip)
flows = st.builds(
    lambda name, description, count, pairs, branch: Flow(
        X,
        name,
        "2025-05-07T10:00:00+09:00",
        "2025-05-08T13:55:22+09:00",
        description,
        tuple(FlowEntry(number, f"{number:08}-0000-7000-8000-000000000000") for number in range(1, count + 1)),
        tuple(dict.fromkeys(Edge(a, b, branch or None) for a, b in pairs if a <= count and b <= count)),
    ),
    names,
    any_text,
    st.integers(0, 6),
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), max_size=6, unique=True),
    any_text,
)


@given(flows)
def test_5_1_what_is_written_reads_back_equal_here_and_in_any_yaml_reader(flow: Flow) -> None:
    text = dump_flow(flow)
    assert load(text) == flow
    assert load("# by hand\n" + text) == flow
    strangers = yaml.load(text, Loader=yaml.BaseLoader)
    assert (strangers["name"], strangers["description"]) == (flow.name, flow.description)
    assert [(int(item["index"]), item["id"]) for item in strangers["nodes"] or ()] == [
        (e.index, e.id) for e in flow.entries
    ]


@given(any_text)
def test_a_scalar_means_the_same_text_to_any_yaml_reader(text: str) -> None:
    assert yaml.safe_load(f"a: {scalar(text)}\n") == {"a": text}
    assert yaml.load(f"a: {moment(text)}\n", Loader=yaml.BaseLoader) == {"a": text}


@each_row(
    "text", ["yes", "No", "~", "null", "1", "1e3", "0x1f", "2025-05-08", "要約: 直した", "- a", "#x", " a", "a ", ""]
)
def test_a_scalar_that_could_be_something_else_is_quoted(text: str) -> None:
    assert scalar(text).startswith('"')


@each_row("text", ["main", "要約", "タグ1,タグ2", "gpt-4", "Summary of a turn", "前のノード（全文）"])
def test_an_ordinary_scalar_stands_bare(text: str) -> None:
    assert scalar(text) == text


# Edits


def test_5_1_an_edit_keeps_comments_and_order() -> None:
    file = load_flow(FLOW_YAML.encode(), "x")
    flow = replace(
        file.flow,
        updated="2025-06-01T00:00:00+09:00",
        entries=(*file.flow.entries, FlowEntry(5, "new")),
        edges=(file.flow.edges[0], *file.flow.edges[2:], Edge(4, 5, "枝: 1")),
    )
    edited = edit(file, flow)
    assert edited.flow == flow
    before, after = FLOW_YAML.splitlines(), edited.text.splitlines()
    assert [line for line in before if line not in after] == ["updated: 2025-05-08T13:55:22+09:00", "    to: 3"]
    added = [line for line in after if line not in before]
    assert added == [
        "updated: 2025-06-01T00:00:00+09:00",
        "  - index: 5",
        "    id: new",
        "  - from: 4",
        "    to: 5",
        '    branch: "枝: 1"',
    ]
    assert sum("#" in line for line in after) == 4


COMMENTED = """\
# head
name: "main"   # my name
id: abc
updated: 2025-01-01   # when
nodes:      # all
- index: 1  # first
  id: n1
# between
- {index: 2, id: n2}

connections:
-   from: 1
    to: 2   # edge
    note: kept
# tail
extra: [1, 2]
"""


@given(st.data())
def test_any_edit_of_a_file_written_by_hand_reads_back_and_keeps_its_comments(data: st.DataObject) -> None:
    file = load_flow(COMMENTED.encode(), "x")
    for _ in range(data.draw(st.integers(1, 5))):
        flow = file.flow
        known = {entry.index for entry in flow.entries}
        if data.draw(st.booleans()):
            entry = FlowEntry(max(known, default=0) + 1, f"n{max(known, default=0) + 1}")
            flow = replace(flow, entries=(*flow.entries, entry))
        elif known:
            gone = data.draw(st.sampled_from(sorted(known)))
            flow = replace(
                flow,
                entries=tuple(entry for entry in flow.entries if entry.index != gone),
                edges=tuple(edge for edge in flow.edges if gone not in (edge.source, edge.target)),
            )
        if len(flow.entries) > 1:
            edge = Edge(flow.entries[0].index, flow.entries[-1].index)
            if edge not in flow.edges:
                flow = replace(flow, edges=(*flow.edges, edge))
        flow = replace(flow, updated=data.draw(st.sampled_from(["2025-02-02", "x: y"])))
        file = edit(file, flow)
        assert file.flow == flow
        again = load_flow(file.text.encode(), "x")
        assert (again.flow, again.fields) == (flow, file.fields)
        for comment in ("# head", "# my name", "# when", "# tail", "extra: [1, 2]"):
            assert comment in file.text


@given(flows, flows)
def test_an_edit_of_the_tools_own_file_says_exactly_the_new_flow(old: Flow, new: Flow) -> None:
    edited = edit(load_flow(dump_flow(old).encode(), "x"), new)
    assert edited.flow == new
    assert edited.text == dump_flow(new)


def test_a_flow_written_as_json_can_be_read_and_edited() -> None:
    file = load_flow(b'{"id": "a", "name": "n", "nodes": [{"index": 1, "id": "x"}], "connections": []}', "x")
    flow = replace(file.flow, entries=(*file.flow.entries, FlowEntry(2, "y")), edges=(Edge(1, 2),))
    assert edit(file, flow).flow == flow


# What is wrong in a file is found, not crashed on


def test_bad_connections_are_passed_over_with_a_remark() -> None:
    file = load_flow((FLOW_YAML + "  - from: 9\n    to: 1\n  - to: 1\n  - from: 1\n    to: 2\n").encode(), "x")
    assert file.flow.edges == load(FLOW_YAML).edges
    assert len(file.remarks) == 3
    assert "line 28: the connection 9 → 1 refers to a node that is not in the flow" in str(file.remarks[0])


@each_row(
    "text",
    [
        "a: &a [x]\nb: *a\n",
        "id: x\nnodes: " + "[" * 40 + "]" * 40,
        "- a\n",
        "name: no id\n",
        "id: x\n\tname: y\n",
        "id: x\n---\nid: y\n",
        "? [a]\n: b\n",
        "id: \x00\n",
        "id: x\nnodes:\nnodes:\n  - index: 1\n    id: y\n",
        "id: x\nname: one\nname: two\n",
    ],
)
def test_what_is_no_flow_is_reported(text: str) -> None:
    with pytest.raises(BadFile, match=r"flows/000/000\.yaml: "):
        load(text)


def test_bytes_that_are_no_text_are_reported() -> None:
    with pytest.raises(BadFile, match="not UTF-8"):
        load_flow(b"id: \xff", "x")


def test_a_flow_needs_a_name_of_real_text() -> None:
    with pytest.raises(BadText):
        dump_flow(Flow("a", " "))
    with pytest.raises(BadText, match="surrogate"):
        dump_flow(Flow("a", "\ud800"))


@pytest.mark.parametrize(
    "text",
    [
        f"# mine\nid: {X} # the id\nname: main\n# end",
        f"# mine\nname: main\nid: {X}\nextra: 1\nnodes: # none yet\n# end\n",
        f"\ufeffupdated: 2025-05-08T13:55:22+09:00 # mine\nid: {X}\nconnections: []\n# end\n",
        f"# mine\nid: {X}\nname: |\n  two\n  lines\nupdated:\nnodes:\n- id: {X}\n# end\n",
    ],
)
def test_a_file_written_without_all_the_parts_gets_them_and_keeps_its_comments(text: str) -> None:
    file = load_flow(text.encode(), "flows/000/000.yaml")
    wanted = replace(
        file.flow,
        updated="2026-01-01T00:00:00+00:00",
        entries=(*file.flow.entries, FlowEntry(7, "seventh"), FlowEntry(8, "eighth")),
        edges=(Edge(7, 8),),
    )
    changed = edit(file, wanted)
    assert load(changed.text) == changed.flow == wanted
    assert "# mine" in changed.text and "# end" in changed.text and ("extra" in text) == ("extra" in changed.text)


def test_an_empty_field_and_a_block_of_lines_can_be_changed_twice() -> None:
    text = f"id: {X}\nname: |\n  two\n  lines\ndescription: # none\nnodes: []\nconnections: []\n"
    file = load_flow(text.encode(), "flows/000/000.yaml")
    for words in ("one", "another"):
        file = edit(file, replace(file.flow, name=words, description=words))
        assert (load(file.text).name, load(file.text).description) == (words, words)
    assert "# none" in file.text
