"""References in a prompt: where they begin and end, also as Japanese is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from nebula.graph.context.references import mentioned_nodes, mentions
from nebula.graph.errors import NotFound
from nebula.graph.graph import Graph
from rows import each_row

MENTIONS = {
    "@abcd1234 の詳細": ["@abcd1234"],
    "@abcd1234の詳細": ["@abcd1234"],
    "詳しくは@abcd1234を見て": ["@abcd1234"],
    "(@abcd1234)と@ABCD": ["@abcd1234", "@ABCD"],
    "me@abcd.example と x@beef": [],
    "@abcdefgh @abc @abcd_x": [],
    "[abcd1234]の詳細を知りたい": ["@abcd1234"],
    "I want to know the details of [abcd1234].": ["@abcd1234"],
    "see [abcd1234] and a[beef]": [],
    "#甲について": ["#甲について"],
    "前の#甲、#乙": ["#甲", "#乙"],
    "C# と a#b と &#x27;": [],
}


@each_row("prompt", MENTIONS)
def test_what_looks_like_a_reference(prompt: str) -> None:
    assert mentions(prompt) == MENTIONS[prompt]


def test_a_tag_ends_where_there_is_one(tmp_path: Path) -> None:
    with Graph(str(tmp_path)) as graph:
        ids = {tag: graph.create_node("q", "a", tags=[tag]).id for tag in ("甲", "甲について", "foo", "検索")}

        def found(mention: str) -> list[str]:
            return mentioned_nodes(graph, mention)

        assert found("#甲の話") == found("#甲") == [ids["甲"]]
        assert found("#甲についての") == [ids["甲について"]]
        assert found("#検索エンジン") == [ids["検索"]]
        assert found("#fooの話") == [ids["foo"]]
        with pytest.raises(NotFound):
            found("#foobar")
