"""An error of ours is the same in whatever process it is told."""

from __future__ import annotations

import pickle

import pytest

from nebula.errors import NebulaError
from nebula.files.reading import UnreadableFile
from nebula.graph.errors import BadFile
from nebula.language import Sentence, explain
from nebula.llm.errors import ContextExceededError


@pytest.mark.parametrize(
    "error",
    [
        NebulaError("{path}: not found.", path="a"),
        UnreadableFile(".mcp.json", Sentence("it is not a regular file")),
        BadFile("a.xml", Sentence("larger than {limit} bytes", limit=3)),
        ContextExceededError("Too long: {tokens}", context_tokens=5, prompt_tokens=7, tokens=7),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_the_way_to_another_process(error: NebulaError) -> None:
    told = pickle.loads(pickle.dumps(error))
    assert type(told) is type(error) and vars(told) == vars(error)
    assert (str(told), explain(told)) == (str(error), explain(error))
