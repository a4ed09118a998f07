"""Whatever a stranger writes is read in a time that grows with its length, and not with its square."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from nebula.agent.checks.lacking import _DISTRIBUTION
from nebula.agent.commits.message import clean_message
from nebula.exchange.imports.sources.claude import _INJECTED
from nebula.graph.derived.search_terms import match_expression
from nebula.graph.formats.node_xml import load_head
from nebula.messages.redaction import Redactor
from nebula.messages.redaction.arriving import ArrivingText

MANY = 60_000
READERS: dict[str, Callable[[], object]] = {
    "blanks in a secret file": lambda: Redactor().learn("KEY = b" + " " * MANY + "c"),
    "line breaks in a message for a commit": lambda: clean_message("a" + "\n" * MANY + "b"),
    "a search for Japanese that ends with a sign": lambda: match_expression("漢" * MANY + "!", prefix=True),
    "a search for Thai letters and a word": lambda: match_expression("a" * MANY + "ก!", prefix=True),
    "a name in the head of a node": lambda: load_head(b"<node " + b"a_" * MANY + b">"),
    "line breaks in the settings of a wrapper": lambda: _DISTRIBUTION.search("\n" * MANY * 4),
    "a long word in a draft": lambda: ArrivingText(Redactor()).add("a" * MANY + " b"),
    "a long word that arrives letter by letter": lambda: read_slowly("a" * MANY * 2),
    "remarks that never end in another agent's record": lambda: _INJECTED.sub("", "<system-reminder>" * MANY),
}


def read_slowly(text: str) -> None:
    draft = ArrivingText(Redactor())
    assert "".join([*map(draft.add, text), draft.end()]) == text


@pytest.mark.parametrize("name", READERS)
def test_long_and_odd_texts_are_read_at_once(name: str) -> None:
    began = time.process_time()
    READERS[name]()
    assert time.process_time() - began < 3
