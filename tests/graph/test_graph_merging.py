"""What git is given for one file that two branches changed (`tests/cli/test_graph_merge.py` has real git run it)."""

from __future__ import annotations

from pathlib import Path

from nebula.graph.formats.flow_yaml import dump_flow, load_flow
from nebula.graph.formats.git_conflicts import holds_both, keep_both
from nebula.graph.formats.node_xml import dump_node, load_node
from nebula.graph.graph import Graph
from nebula.graph.merging import MARKER, merge_versions, note_merge, settle_merge
from nebula.graph.values import Edge, Flow, FlowEntry, Node, Utterance
from nebula.value import replace

A, B, C, D, E = (letter * 36 for letter in "abcde")
CHAIN = Flow(
    "0" * 36,
    "main",
    "2025-01-01T00:00:00+00:00",
    "2025-01-02T00:00:00+00:00",
    "about",
    (FlowEntry(1, A), FlowEntry(2, B), FlowEntry(3, C)),
    (Edge(1, 2), Edge(2, 3, "old")),
)
LATER = "2025-01-03T00:00:00+00:00"
NODE = Node(
    A, LATER, (Utterance("user", "q", 1), Utterance("assistant", "a", 1)), "short", ["t"], "m", last_built=LATER
)


def grown(flow: Flow, node: str, behind: int) -> Flow:
    return replace(flow, entries=(*flow.entries, FlowEntry(4, node)), edges=(*flow.edges, Edge(behind, 4)))


def merged(base: Flow | None, ours: Flow, theirs: Flow) -> Flow:
    texts = (dump_flow(flow).encode() if flow else b"" for flow in (base, ours, theirs))
    data, is_both = merge_versions("flows/000/000.yaml", *texts)
    assert not is_both
    return load_flow(data, "").flow


def test_both_added_turns_to_a_flow() -> None:
    for base in (CHAIN, None):
        flow = merged(base, grown(CHAIN, D, 3), replace(grown(CHAIN, E, 1), updated=LATER))
        assert flow.nodes == [A, B, C, D, E] and flow.updated == LATER
        assert flow.edges == (Edge(1, 2), Edge(2, 3, "old"), Edge(3, 4), Edge(1, 5))


def test_what_one_side_took_out_of_a_flow_stays_out() -> None:
    without_c = replace(CHAIN, entries=CHAIN.entries[:2], edges=CHAIN.edges[:1])
    loose = replace(CHAIN, edges=CHAIN.edges[1:])
    for pair in ((without_c, grown(loose, D, 2)), (grown(loose, D, 2), without_c)):
        flow = merged(CHAIN, *pair)
        assert (flow.nodes, flow.edges) == ([A, B, D], (Edge(2, flow.entries[2].index),))


def test_names_that_one_side_gave_are_there_and_ours_win() -> None:
    named = replace(
        CHAIN,
        name="new",
        description="said",
        archived=True,
        entries=(CHAIN.entries[0], FlowEntry(2, B, E), CHAIN.entries[2]),
        edges=(Edge(1, 2, "one"), Edge(2, 3, "two")),
    )
    assert merged(CHAIN, grown(CHAIN, D, 3), named) == grown(named, D, 3)
    assert merged(CHAIN, grown(named, D, 3), CHAIN) == grown(named, D, 3)
    assert merged(CHAIN, grown(named, D, 3), replace(named, name="theirs", edges=CHAIN.edges)) == grown(named, D, 3)


def test_fields_that_each_changed_alone_come_together() -> None:
    ours = replace(NODE, texts=(NODE.texts[0], Utterance("assistant", "ours", 1)), updated=True)
    theirs = replace(NODE, tags=["theirs"], note="theirs", summary="new", last_built="2025-02-01T00:00:00+00:00")
    data, is_both = merge_versions("nodes/000/000.xml", *map(dump_node, (NODE, ours, theirs)))
    node = load_node(data, "")
    assert not is_both and (node.response, node.tags, node.note, node.summary) == ("ours", ["theirs"], "theirs", "new")
    assert node.updated, "that summary is not of this answer"


def test_versions_that_exclude_each_other_are_both_kept() -> None:
    ours, theirs = (replace(NODE, note=note) for note in ("ours", "theirs"))
    other = replace(theirs, id=B)
    for base, pair in ((NODE, (ours, theirs)), (NODE, (ours, other)), (None, (ours, other)), (other, (ours, theirs))):
        data, is_both = merge_versions("nodes/000/000.xml", dump_node(base) if base else b"", *map(dump_node, pair))
        assert is_both and data == keep_both(*map(dump_node, pair)) and holds_both(data)
    flows = (dump_flow(replace(CHAIN, id=each * 36, name=each)).encode() for each in "xy")
    assert merge_versions("flows/000/000.yaml", b"", *flows)[1]
    assert merge_versions("nodes/000/000.xml", b"", b"same", b"same") == (b"same", False)


def test_a_merge_that_left_both_versions_is_noted_until_they_are_parted(tmp_path: Path) -> None:
    with Graph(tmp_path / "data") as graph:
        node = graph.create_node("q")
        assert settle_merge(graph) == ()
        note_merge(str(tmp_path / "data"))
        assert settle_merge(graph) == [] and not (tmp_path / "data" / MARKER).exists()
        ours, theirs = (dump_node(replace(node, note=note)) for note in ("ours", "theirs"))
        (tmp_path / "data/nodes/000/000.xml").write_bytes(keep_both(ours, theirs))
        assert [each.kind for each in settle_merge(graph)] == ["conflict"] and settle_merge(graph) == ()
        assert {each.note for each in graph.list_nodes()} == {"ours", "theirs"}


def test_kept_versions_end_with_a_line_break_and_have_markers_of_their_own() -> None:
    first = keep_both(b"a", b"b\n")
    assert first == b"%b ours\na\n%b\nb\n%b theirs\n" % (b"<" * 32, b"=" * 32, b">" * 32)
    assert keep_both(first, b"c").startswith(b"<" * 33 + b" ours\n" + first + b"=" * 33 + b"\nc\n")
    assert not holds_both(first + b"more") and not holds_both(first[1:])
