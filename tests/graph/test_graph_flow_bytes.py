"""A flow file line by line: where its parts stand, what is skipped, and what an edit leaves of it."""

from __future__ import annotations

from typing import Any

import pytest

from nebula.graph.errors import BadFile, BadText
from nebula.graph.formats import flow_yaml, yaml_tree
from nebula.graph.formats.flow_edit import edit, rewrite_lists
from nebula.graph.formats.flow_yaml import FlowFile, Section, dump_flow, load_flow
from nebula.graph.formats.yaml_text import identifier, moment, scalar
from nebula.graph.formats.yaml_tree import Branch, Leaf
from nebula.graph.health.flow_repair import repaired_flow
from nebula.graph.values import Edge, Flow, FlowEntry
from nebula.value import replace
from rows import each_row

A, B = FlowEntry(1, "a"), FlowEntry(2, "b")
OWN = Flow("abc", "main", "2025-01-01T00:00:00Z", "2025-01-02T00:00:00Z", "d", (A, B), (Edge(1, 2, "x: y"),))
OWN_TEXT = """\
id: "abc"
name: main
created: 2025-01-01T00:00:00Z
updated: 2025-01-02T00:00:00Z
description: d
nodes:
  - index: 1
    id: a
  - index: 2
    id: b
connections:
  - from: 1
    to: 2
    branch: "x: y"
""".replace('"abc"', "abc")
BY_HAND = """\
# head
name: "main"   # my name
id: abc
updated: 2025-01-01   # when
nodes:      # all
- index: 1  # first
  id: n1
# between
- {index: 2, id: n2}
- n3
- index: 2
  id: twice
- index: x
  id: odd
- index: 4

connections:
-   from: 1
    to: 2   # edge
    note: kept
-   from: 1
    to: 2
-   from: 1
    to: 9
- 7
-   from: 2
    to: 3
    branch: b
# tail
extra: [1, 2]
"""


def load(text: str) -> FlowFile:
    return load_flow(text.encode(), "p")


def part(text: str, section: Section | None) -> Any:
    if section is None:
        return None
    items = [text[section.start + start : section.start + end] for start, end in section.items]
    return text[section.start : section.end], section.by_line, section.indent, items


def fields_of(file: FlowFile) -> dict[str, str]:
    return {name: file.text[start:end] for name, (start, end) in file.fields.items()}


def test_the_parts_of_a_file_in_the_tools_own_shape() -> None:
    assert dump_flow(OWN) == OWN_TEXT
    file = load(OWN_TEXT)
    assert (file.flow, file.text, file.own_shape, file.remarks, file.passed_over) == (OWN, OWN_TEXT, True, (), ())
    assert (file.fields, file.nodes, file.connections) == ({}, None, None)


def test_a_flow_without_nodes() -> None:
    flow = replace(OWN, entries=(), edges=())
    assert dump_flow(flow) == OWN_TEXT.partition("nodes:")[0] + "nodes: []\nconnections: []\n"
    file = load(dump_flow(flow))
    assert (file.flow, file.own_shape) == (flow, True)


@each_row(
    ("old", "new", "remarks"),
    [
        ("index: 2", "index: 1", ["line 9: number 1 occurs twice; its second node b is skipped"]),
        ("to: 2", "to: 3", ["line 12: the connection 1 → 3 refers to a node that is not in the flow and is skipped"]),
        (
            "from: 1",
            "from: 3",
            ["line 12: the connection 3 → 2 refers to a node that is not in the flow and is skipped"],
        ),
        ('    branch: "x: y"\n', "  - from: 1\n    to: 2\n", ["line 14: the connection 1 → 2 occurs twice"]),
        ("index: 2", "index: 1234567890", ["line 9: a node without an id or a number is skipped"]),
    ],
)
def test_its_own_shape_with_a_mistake_is_read_with_a_remark(old: str, new: str, remarks: list[str]) -> None:
    file = load(OWN_TEXT.replace(old, new))
    assert file.own_shape is False
    assert [str(remark) for remark in file.remarks][:1] == remarks


@pytest.mark.parametrize(("old", "new"), [("main", "'main'"), ("main", '"main" # mine'), ("d\n", '"d\n  d"\n')])
def test_other_quoting_is_not_its_own_shape(old: str, new: str) -> None:
    file = load(OWN_TEXT.replace(old, new, 1))
    assert (file.own_shape, file.flow.id, file.flow.entries) == (False, "abc", (A, B))


def test_the_parts_of_a_file_written_by_hand() -> None:
    file = load(BY_HAND)
    assert file.flow == Flow(
        "abc",
        "main",
        "",
        "2025-01-01",
        "",
        (FlowEntry(1, "n1"), FlowEntry(2, "n2"), FlowEntry(3, "n3")),
        (Edge(1, 2), Edge(2, 3, "b")),
    )
    assert (file.text, file.own_shape) == (BY_HAND, False)
    assert fields_of(file) == {"name": '"main"', "id": "abc", "updated": "2025-01-01"}
    head, _, rest = BY_HAND.partition("\nconnections:")
    assert part(file.text, file.nodes) == (
        head[head.index("nodes:") :],
        True,
        "",
        ["- index: 1  # first\n  id: n1\n", "- {index: 2, id: n2}\n", "- n3\n"],
    )
    assert part(file.text, file.connections) == (
        "connections:" + rest.partition("# tail")[0],
        True,
        "",
        ["-   from: 1\n    to: 2   # edge\n    note: kept\n", "-   from: 2\n    to: 3\n    branch: b\n"],
    )
    assert [str(remark) for remark in file.remarks] == [
        "line 11: number 2 occurs twice; its second node twice is skipped",
        "line 13: a node without an id or a number is skipped",
        "line 15: a node without an id or a number is skipped",
        "line 21: the connection 1 → 2 occurs twice",
        "line 23: the connection 1 → 9 refers to a node that is not in the flow and is skipped",
        "line 25: a connection without a number is skipped",
    ]
    assert [BY_HAND[start:end] for start, end in file.passed_over] == [
        "- index: 2\n  id: twice\n",
        "- index: x\n  id: odd\n",
        "- index: 4\n",
        "-   from: 1\n    to: 2\n",
        "-   from: 1\n    to: 9\n",
        "- 7\n",
    ]


def test_a_byte_order_mark_and_other_line_breaks_are_counted() -> None:
    text = "\ufeff" + BY_HAND.partition("# between")[0].replace("\n", "\r\n")
    file = load(text)
    assert fields_of(file) == {"name": '"main"', "id": "abc", "updated": "2025-01-01"}
    item = "- index: 1  # first\r\n  id: n1\r\n"
    assert part(text, file.nodes) == ("nodes:      # all\r\n" + item, True, "", [item])
    assert file.connections is None


def test_lists_that_do_not_stand_line_by_line() -> None:
    file = load(
        "id: a\nname: |\n  two\n  lines\ndescription: >-\n  x\n\n  y\nnodes: ~\nconnections: [{from: 1,\n  to: 2}]\nupdated:\n"
    )
    assert (file.flow.name, file.flow.description) == ("two\nlines\n", "x\ny")
    assert fields_of(file) == {
        "id": "a",
        "name": "|\n  two\n  lines\n",
        "description": ">-\n  x\n\n  y\n",
        "updated": "",
    }
    assert part(file.text, file.nodes) == ("nodes: ~\n", False, "  ", [])
    text, by_line, _, items = part(file.text, file.connections)
    assert (text, by_line, items) == ("connections: [{from: 1,\n  to: 2}]\n", False, [])
    assert len(file.remarks) == 1 and file.passed_over == ()


def test_a_mapping_is_no_list_of_lines() -> None:
    file = load("id: a\nnodes: {a: b}\nconnections:\n  a: b\n")
    assert part(file.text, file.connections) == ("connections:\n  a: b\n", False, "  ", [])
    assert file.nodes is not None and file.nodes.by_line is False


def test_a_flow_in_braces_has_no_places() -> None:
    file = load('{"id": "a", "nodes": [{"index": 7, "id": "x"}], "connections": []}')
    assert (file.flow.entries, file.fields, file.nodes, file.connections) == ((FlowEntry(7, "x"),), {}, None, None)


@each_row(
    ("text", "sentence"),
    [
        ("a: &a [x]\nb: *a\n", "p: aliases are not allowed"),
        ("id: x\nnodes: " + "[" * 30 + "]" * 30, "p: nested deeper than 30"),
        ("- a\n", "p: not a mapping"),
        ("text", "p: not a mapping"),
        ("", "p: the flow has no id"),
        ("id: ~\n", "p: the flow has no id"),
        ("id: null\n", "p: the flow has no id"),
        ("id: [a]\n", "p: the flow has no id"),
        ("id: x\nnodes: abc\n", "p: 'nodes' is not a list"),
        ("id: x\nnodes: []\nconnections: 1\n", "p: 'connections' is not a list"),
        ("id: x\n\tname: y\n", "p: not YAML: found a tab character that violates indentation (line 2)"),
        ("id: x\n---\nid: y\n", "p: more than one document"),
        ("a: 1\n? [a]\n: b\n", "p: a key that is no text (line 2)"),
    ],
)
def test_what_is_wrong_with_a_flow_is_said_exactly(text: str, sentence: str) -> None:
    with pytest.raises(BadFile) as caught:
        load(text)
    assert str(caught.value) == sentence


def test_what_no_reader_of_yaml_takes_has_no_line() -> None:
    with pytest.raises(BadFile, match=r"^p: not YAML: unacceptable character (.|\n)* \(line \?\)$"):
        load("id: \x00\n")


def test_a_word_in_quotes_is_a_word() -> None:
    assert load("id: 'null'\nname: \"~\"\n").flow == Flow("null", "~")
    assert load("id: x\nnodes: " + "[" * 29 + "]" * 29).flow.id == "x"


def test_bytes_and_sizes_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadFile) as caught:
        load_flow(b"id: \xff", "p")
    assert str(caught.value) == "p: not UTF-8 (byte 4)"
    monkeypatch.setattr(flow_yaml, "MAX_FLOW_BYTES", len(OWN_TEXT))
    assert load(OWN_TEXT).flow == OWN
    with pytest.raises(BadFile) as caught:
        load(OWN_TEXT + "\n")
    assert str(caught.value) == f"p: larger than {len(OWN_TEXT)} bytes"


def test_a_flow_that_cannot_be_written_says_why() -> None:
    for flow, sentence in (
        (Flow("a", "\t"), "a flow needs a name"),
        (Flow("a", "x\ud800"), "the flow's name holds a lone surrogate (U+D800 at position 1), which is not text"),
        (
            Flow("a", "n", description="\ud800"),
            "the description holds a lone surrogate (U+D800 at position 0), which is not text",
        ),
    ):
        with pytest.raises(BadText) as caught:
            dump_flow(flow)
        assert str(caught.value) == sentence


# Edits


@each_row(
    ("change", "edited"),
    [
        ({}, OWN_TEXT),
        ({"name": "other"}, OWN_TEXT.replace("main", "other")),
        ({"name": "a: b"}, OWN_TEXT.replace("main", '"a: b"')),
        ({"entries": (A,), "edges": ()}, OWN_TEXT.partition("  - index: 2")[0] + "connections: []\n"),
        (
            {"entries": (B,), "edges": ()},
            OWN_TEXT.replace("  - index: 1\n    id: a\n", "").partition("connections")[0] + "connections: []\n",
        ),
        (
            {"entries": (A, B, FlowEntry(3, "c")), "edges": (*OWN.edges, Edge(2, 3))},
            OWN_TEXT.replace("connections", "  - index: 3\n    id: c\nconnections") + "  - from: 2\n    to: 3\n",
        ),
        (
            {"entries": (B, A)},
            OWN_TEXT.replace("  - index: 1\n    id: a\n", "").replace(
                "connections", "  - index: 1\n    id: a\nconnections"
            ),
        ),
    ],
)
def test_an_edit_of_its_own_file_is_exact(change: dict[str, Any], edited: str) -> None:
    flow = replace(OWN, **change)
    file = edit(load(OWN_TEXT), flow)
    assert (file.text, file.flow) == (edited, flow)
    assert file == load(edited)


HAND = load(BY_HAND).flow


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        ({"name": "x: y"}, '"main"', '"x: y"'),
        ({"edges": HAND.edges[:1]}, "-   from: 2\n    to: 3\n    branch: b\n", ""),
        ({"entries": (*HAND.entries, FlowEntry(8, "n8"))}, "- index: 4\n", "- index: 4\n- index: 8\n  id: n8\n"),
        (
            {"edges": (*HAND.edges, Edge(3, 1, "c"))},
            "    branch: b\n",
            "    branch: b\n- from: 3\n  to: 1\n  branch: c\n",
        ),
    ],
)
def test_an_edit_of_a_file_written_by_hand_is_exact(change: dict[str, Any], old: str, new: str) -> None:
    flow = replace(HAND, **change)
    file = edit(load(BY_HAND), flow)
    assert (file.text, file.flow) == (BY_HAND.replace(old, new), flow)
    assert file == load(file.text)


def test_a_node_whose_number_is_its_place_keeps_it_when_one_before_it_goes() -> None:
    file = load("# mine\nid: x\nname: n\nnodes:\n- a\n- b\n- c # last\nconnections:\n- from: 1\n  to: 3\n# end\n")
    flow = replace(file.flow, entries=(A, FlowEntry(3, "c")))
    edited = edit(file, flow)
    assert (edited.flow, edited.remarks) == (flow, ())
    assert edited.text.startswith("# mine\n") and edited.text.endswith("- from: 1\n  to: 3\n# end\n")


def test_a_connection_that_goes_leaves_no_repeat_of_it_behind() -> None:
    edited = edit(load(BY_HAND), replace(HAND, edges=HAND.edges[1:]))
    assert edited.flow.edges == HAND.edges[1:] and [*map(str, edited.remarks)] == [*map(str, load(BY_HAND).remarks)][:3]
    assert edited.text.startswith(BY_HAND.partition("connections:")[0]) and "# tail" in edited.text


@each_row(
    ("text", "change", "edited"),
    [
        ("id: a\nname: n", {"entries": (A,)}, "id: a\nname: n\nnodes:\n  - index: 1\n    id: a\nconnections: []\n"),
        (
            "id: a # mine\nnodes: []\n# end\n",
            {"name": "n", "updated": "2025-01-01T00:00:00Z"},
            'id: a # mine\nname: "n"\nupdated: 2025-01-01T00:00:00Z\nnodes: []\n# end\nconnections: []\n',
        ),
        (
            "name:\nid: a\nnodes: []\nconnections: []\n",
            {"name": "main"},
            "name: main\nid: a\nnodes: []\nconnections: []\n",
        ),
        (
            "id: a\nname: |\n  two\n  lines\nnodes: []\nconnections: []\n",
            {"name": "main"},
            "id: a\nname: main\nnodes: []\nconnections: []\n",
        ),
        ("id: a\nname: main\nnodes: []\nconnections:\n- from: 1\n  to: 2", {"entries": (A, B)}, None),
        (
            "id: a\nname: main\nnodes:\n- a",
            {"entries": (A, B)},
            "id: a\nname: main\nnodes:\n- a\n- index: 2\n  id: b\nconnections: []\n",
        ),
    ],
)
def test_what_somebody_left_out_is_added_where_it_belongs(
    text: str, change: dict[str, Any], edited: str | None
) -> None:
    file = load(text)
    flow = replace(file.flow, **change)
    changed = edit(file, flow)
    assert edited is None or changed.text == edited
    assert load(changed.text).flow.entries == flow.entries


def test_items_of_several_lines_have_all_of_them() -> None:
    items = ["  - {index: 1,\n     id: a}\n", "  - index: 2\n    id: |-\n      b\n", "  - id: c\n"]
    file = load("id: x\nname: n\nnodes:\n" + "".join(items) + "  # behind\nconnections: []\n")
    assert file.flow.entries == (A, B, FlowEntry(3, "c"))
    assert part(file.text, file.nodes) == ("nodes:\n" + "".join(items), True, "  ", items)
    assert edit(file, replace(file.flow, entries=(A, B))).text == file.text.replace(items[2], "")


def test_figures_of_another_script_are_no_number() -> None:
    file = load("id: x\nnodes:\n- index: １\n  id: a\n- index: 1\n  id: b\n")
    assert file.flow.entries == (FlowEntry(1, "b"),)


def test_the_last_of_a_list_leaves_what_follows() -> None:
    flow = replace(OWN, entries=(A, B, FlowEntry(3, "c")), edges=(Edge(1, 2), Edge(1, 3), Edge(2, 3)))
    file = load(dump_flow(flow))
    assert file.own_shape
    for kept in (
        replace(flow, entries=(A, B), edges=(Edge(1, 2),)),
        replace(flow, entries=(A, FlowEntry(3, "c")), edges=(Edge(1, 3),)),
        replace(flow, edges=(Edge(1, 2), Edge(2, 3))),
        replace(flow, edges=(Edge(1, 2), Edge(1, 3))),
    ):
        assert edit(file, kept).text == dump_flow(kept)


@pytest.mark.parametrize(
    "changes",
    [
        {"entries": (A, B, FlowEntry(3, "c"))},
        {"edges": (*OWN.edges, Edge(2, 3, "null")), "entries": (A, B, FlowEntry(3, "c", "f"))},
        {"updated": "2025-03-01T00:00:00Z", "name": "connections:", "description": "", "archived": True},
        {"entries": (FlowEntry(1, "a", "opened"), B, FlowEntry(3, "c"))},
        {"edges": (Edge(1, 2, "other"),)},
        {"entries": (), "edges": ()},
    ],
)
def test_what_a_flow_gains_stands_as_if_all_were_written_anew(changes: dict[str, Any]) -> None:
    flow = replace(OWN, **changes)
    assert edit(load(OWN_TEXT), flow).text == edit(load(dump_flow(flow)), flow).text == dump_flow(flow)


def test_lines_of_a_long_flow_are_not_written_again_for_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[FlowEntry] = []
    lines = flow_yaml.entry_lines
    monkeypatch.setattr(flow_yaml, "entry_lines", lambda entry: (written.append(entry), lines(entry))[1])
    edit(load(OWN_TEXT), replace(OWN, entries=(A, B, FlowEntry(3, "c"))))
    assert written == [FlowEntry(3, "c")]


HEAD = "# mine\nid: x\nname: n\nupdated: '2025-01-01' # when\ncreated: 2025-01-01\ndescription: d\n"
NODES = 'nodes: # all\n- id: a\n  index: 1\n# between\n- {index: 2, id: "b"}\n'
EDGES = "connections:\n    - from: 1\n      to: 2\n      branch: x\n"


@pytest.mark.parametrize(
    "text",
    [
        HEAD + NODES + EDGES + "# end\n",
        EDGES + "\n" + HEAD + NODES,
        NODES + "other: 1\n" + EDGES + HEAD,
        HEAD + NODES + "- c\n" + EDGES,
        HEAD + NODES.replace('"b"', '"\u2028"') + EDGES,
        HEAD.replace("name: n", "name: |\n  n\n") + NODES + EDGES,
        HEAD.replace("updated: ", "updated: &a !!str ") + NODES + EDGES,
    ],
)
def test_a_turn_at_the_end_leaves_a_file_by_hand_as_it_would_be_read(text: str) -> None:
    file = load(text)
    for number in range(10, 13):
        flow = file.flow
        entries = (*flow.entries, FlowEntry(number, f"n{number}", "f" * (number % 2)))
        edges = (*flow.edges, Edge(flow.entries[-1].index, number, "null" if number == 11 else None))
        flow = replace(flow, entries=entries, edges=edges, updated=f"2025-01-{number}T00:00:00Z")
        file = edit(file, flow)
        assert file.flow is flow  # and so was not read again
        assert file == load(file.text)


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace("updated: '2025-01-01'", "updated: |\n  2025\n") + NODES + EDGES,
        HEAD.replace("updated: '2025-01-01'", "updated:") + NODES + EDGES,
        HEAD + NODES + EDGES + "    - {from: 2, to: 3}\n",  # which names no node yet
        HEAD + NODES + EDGES.rstrip("\n"),
        HEAD + NODES + "connections: [{from: 1, to: 2}]\n",
        "{id: x, name: n, updated: 2025-01-01, nodes: [a, b], connections: [{from: 1, to: 2}]}\n",
    ],
)
def test_a_file_in_which_a_turn_at_the_end_means_more_is_read_again(text: str) -> None:
    flow = load(text).flow
    added = replace(
        flow, entries=(*flow.entries, FlowEntry(3, "c")), edges=(*flow.edges, Edge(2, 3)), updated="2025-02"
    )
    file = edit(load(text), added)
    assert (file.flow, load(file.text)) == (added, file)


def test_fields_are_added_below_the_id_wherever_it_stands() -> None:
    file = load("# mine\nextra: 1\nid: a\nconnections: []\n")
    assert edit(file, replace(file.flow, name="main", entries=(A,))).text == (
        "# mine\nextra: 1\nid: a\nname: main\nconnections: []\nnodes:\n  - index: 1\n    id: a\n"
    )


@pytest.mark.parametrize("text", ['{"id": "a", "name": "n"}', "{id: a, name: n, nodes: [], connections: []}"])
def test_a_flow_in_braces_is_written_anew(text: str) -> None:
    flow = replace(load(text).flow, entries=(A,))
    assert edit(load(text), flow).text == dump_flow(flow)


def test_a_node_added_behind_a_bad_line_outlives_the_repair_of_that_line() -> None:
    added = FlowEntry(8, "n8")
    file = edit(load(BY_HAND), replace(HAND, entries=(*HAND.entries, added)))
    repaired, _ = repaired_flow(file, {"n1", "n2", "n3", "n8"})
    assert repaired.flow == replace(HAND, entries=(*HAND.entries, added))
    assert repaired.remarks == ()


def test_lists_are_written_anew_and_all_around_them_stays() -> None:
    written = rewrite_lists(load(BY_HAND)).text
    assert written.startswith(BY_HAND.partition("nodes:")[0] + "nodes:\n  - index: 1\n    id: n1\n  - index: 2\n")
    assert written.endswith("    to: 3\n    branch: b\n# tail\nextra: [1, 2]\n")
    assert load(written).remarks == () and load(written).flow == HAND
    for lists in ("", "nodes: [{index: x}]\nconnections: [7]\n"):
        assert rewrite_lists(load(f"id: a\nname: n\n{lists}")).text == "id: a\nname: n\nnodes: []\nconnections: []\n"


# The tree and the scalars


def test_a_tree_answers_for_what_is_not_there() -> None:
    root = yaml_tree.load("a: x\nb: {c: y}\nd: [z]\ne: ~\nf: '~'\n", "p")
    assert [root.text(key) for key in "abcdef"] == ["x", "", "", "", "", "~"]
    assert root.text("e", "none") == root.text("missing", "none") == root.text("b", "none") == "none"
    assert root.branch("b").text("c") == "y"
    assert root.branch("d") == root.branch("missing") == Branch("mapping", root.line, root.column, False)
    listed = root.get("d")
    assert isinstance(listed, Branch) and (listed.kind, listed.flow_style, listed.get("z")) == ("sequence", True, None)
    assert yaml_tree.load("", "p") == Branch("mapping", 0, 0, False)


def test_each_piece_of_a_tree_has_its_place() -> None:
    root = yaml_tree.load("a:\n  - 'x'\n  - y\n", "p")
    items = root.branch("none").items
    assert items == [] and [key.text for key in root.keys] == ["a"]
    [listed] = root.items
    assert isinstance(listed, Branch) and (listed.kind, listed.line, listed.column, listed.end_line) == (
        "sequence",
        1,
        2,
        3,
    )
    assert listed.items == [Leaf("x", 1, 1, 4, 7, False), Leaf("y", 2, 2, 4, 5, True)]


@each_row(
    ("text", "written"),
    [
        ("", '""'),
        ("main", "main"),
        ("YES", '"YES"'),
        ("a\u2028\x7f", '"a\\u2028\\u007f"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("要約: 直した", '"要約: 直した"'),
    ],
)
def test_a_scalar_is_bare_or_a_string_of_json(text: str, written: str) -> None:
    assert scalar(text) == written


def test_ids_and_moments_stand_bare_where_they_are_such() -> None:
    known = "00000001-0000-7000-8000-000000000000"
    assert (identifier(known), identifier(known + "0")) == (known, f'"{known}0"')
    assert (moment("2025-01-01T00:00:00.5+09:00"), moment("2025-01-01")) == (
        "2025-01-01T00:00:00.5+09:00",
        '"2025-01-01"',
    )
