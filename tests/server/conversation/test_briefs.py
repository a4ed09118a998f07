"""Nodes in the short form that lists and events carry."""

from __future__ import annotations

from nebula.graph.values import Edge, Flow, FlowEntry
from nebula.server.conversation.briefs import OPENING_LENGTH, compact_flow, opening_of


def test_an_answer_begins_without_the_signs_of_markdown():
    assert opening_of("## Done\n\n**Two** files,\n`a.py` | b") == "Done Two files, a.py b"
    assert len(opening_of("word " * 1000)) == OPENING_LENGTH and opening_of("word " * 1000).endswith("…")
    assert opening_of("") == ""
    assert opening_of("Which?\n\n| way | cost |\n|---|---:|\n| one | 2 |\n\n---\n\nSo.") == "Which? way cost one 2 So."


def test_connections_of_a_node_that_is_twice_in_a_file_lead_to_where_it_stands_last():
    entries = (FlowEntry(1, "a"), FlowEntry(2, "b"), FlowEntry(3, "a"), FlowEntry(4, "c"))
    compact = compact_flow(Flow("f", "main", entries=entries, edges=(Edge(1, 2), Edge(3, 4))), {})
    assert (compact["ids"], compact["pairs"]) == (["a", "b", "a", "c"], [2, 1, 2, 3])
