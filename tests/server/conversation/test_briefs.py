"""Nodes in the short form that lists and events carry."""

from __future__ import annotations

from nebula.server.conversation.briefs import OPENING_LENGTH, opening_of


def test_an_answer_begins_without_the_signs_of_markdown():
    assert opening_of("## Done\n\n**Two** files,\n`a.py` | b") == "Done Two files, a.py b"
    assert len(opening_of("word " * 1000)) == OPENING_LENGTH and opening_of("word " * 1000).endswith("…")
    assert opening_of("") == ""
    assert opening_of("Which?\n\n| way | cost |\n|---|---:|\n| one | 2 |\n\n---\n\nSo.") == "Which? way cost one 2 So."
