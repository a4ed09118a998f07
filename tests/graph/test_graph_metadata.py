"""Metadata files: seed 004 §6.1, §6.2, §7.1."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from nebula.graph.derived import metadata
from nebula.graph.formats.yaml_comments import with_comments, without_comments
from nebula.graph.graph import Graph


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with Graph(tmp_path) as graph:
        yield graph


def load(graph: Graph, name: str) -> Any:
    text = (Path(graph.data_dir) / "metadata" / name).read_text("utf-8")
    assert text.count("updated:") == 1
    return yaml.safe_load(text)


def text_of(graph: Graph, name: str) -> str:
    text = (Path(graph.data_dir) / "metadata" / name).read_text("utf-8")
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.+-]+", "TIME", text)


def test_6_1_tags_with_the_nodes_that_have_them(graph: Graph) -> None:
    first = graph.create_node("1", tags=["タグ名1"])
    second = graph.create_node("2", tags=["タグ名2", "タグ名1"])
    graph.close()
    assert text_of(graph, "tags.yaml") == (
        f"updated: TIME\ntags:\n  タグ名1:\n    - {first.id}\n    - {second.id}\n  タグ名2:\n    - {second.id}\n"
    )


def test_6_2_the_index_in_the_seeds_shape(graph: Graph) -> None:
    first = graph.create_node("1", tags=["キーワード1", "キーワード2"])
    graph.save_summary(first.id, "インデックス用要約")
    second = graph.create_node("2")
    graph.close()
    assert text_of(graph, "index.yaml") == (
        "updated: TIME\n"
        "nodes:\n"
        f"  {first.id}:\n    timestamp: TIME\n    keywords: キーワード1,キーワード2\n    summary: インデックス用要約\n"
        f'  {second.id}:\n    timestamp: TIME\n    keywords: ""\n    summary: ""\n'
    )


@pytest.mark.slow
def test_7_1_1_a_new_node_is_in_the_index_soon(graph: Graph) -> None:
    made = [graph.create_node(str(number)).id for number in range(5)]
    limit = time.monotonic() + 60
    while not (Path(graph.data_dir) / "metadata/tags.yaml").exists():
        assert time.monotonic() < limit
        time.sleep(0.1)
    assert list(load(graph, "index.yaml")["nodes"]) == made


def test_a_large_folder_gets_them_ten_minutes_after_a_change(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "_LARGE_INDEX", 100)
    graph.create_node("1")
    graph.create_node("2")
    assert len(graph.search_nodes(text="1")) == 1
    graph.close()
    path, mark = Path(graph.data_dir) / "metadata/index.yaml", Path(graph._store.metadata._mark_path())
    assert not path.exists()
    assert graph.check() == []
    os.utime(mark, (time.time() - 700,) * 2)
    graph.create_node("3")
    graph.close()
    assert len(load(graph, "index.yaml")["nodes"]) == 3
    assert not mark.exists()


@pytest.mark.slow
def test_7_1_3_changes_follow_soon(graph: Graph) -> None:
    node = graph.create_node("1")
    graph.close()
    graph.save_summary(node.id, "yes: no", ["~", "- x", "a#b"])
    limit = time.monotonic() + 60
    while load(graph, "tags.yaml")["tags"] == {}:
        assert time.monotonic() < limit
        time.sleep(0.1)
    assert load(graph, "tags.yaml")["tags"] == {"- x": [node.id], "a#b": [node.id], "~": [node.id]}
    assert load(graph, "index.yaml")["nodes"][node.id]["summary"] == "yes: no"


def test_a_writer_that_died_leaves_a_mark_and_the_next_one_catches_up(graph: Graph) -> None:
    node = graph.create_node("1")
    graph.close()
    writer = Graph(graph.data_dir)
    writer.update_node(node.id, tags=["t"])
    writer._store._housekeeper.stop()  # as if killed now
    assert load(graph, "tags.yaml")["tags"] == {}
    with Graph(graph.data_dir) as other:
        other.create_node("2")
    assert load(graph, "tags.yaml")["tags"] == {"t": [node.id]}


@pytest.mark.parametrize("damage", ["updated: x\nnodes:\n", "", "nodes: {}\n", "updated: 2025\nnodes:\n  a: b"])
def test_an_index_somebody_changed_is_written_anew(graph: Graph, damage: str) -> None:
    first = graph.create_node("1")
    graph.close()
    (Path(graph.data_dir) / "metadata/index.yaml").write_text(damage, encoding="utf-8")
    second = graph.create_node("2")
    graph.close()
    assert list(load(graph, "index.yaml")["nodes"]) == [first.id, second.id]


def test_metadata_thrown_away_comes_back(graph: Graph) -> None:
    node = graph.create_node("1", tags=["t"])
    graph.close()
    for path in (Path(graph.data_dir) / "metadata").iterdir():
        path.unlink()
    assert graph.check() == []
    assert graph.search_nodes(tags=["t"])
    graph.create_node("2")
    graph.close()
    assert load(graph, "tags.yaml")["tags"] == {"t": [node.id]}
    assert len(load(graph, "index.yaml")["nodes"]) == 2


COMMENTED = """\
# our tags, by hand
updated: 2025-05-09T06:48:06.533720+09:00
tags:
  # of the parser
  "c#":  # the language
    - {first}  # where it began
  # to be removed
  gone:
    - {first}
# the end
"""


def test_6_1_comments_set_by_hand_stay_with_their_lines(graph: Graph) -> None:
    first = graph.create_node("a", tags=["c#", "gone"]).id
    graph.close()
    path = Path(graph.data_dir) / "metadata/tags.yaml"
    path.write_text(COMMENTED.format(first=first), encoding="utf-8")
    assert graph.check() == []
    graph.update_node(first, tags=["c#", "x"])
    second = graph.create_node("b", tags=["c#"]).id
    graph.close()
    text = path.read_text("utf-8")
    stamp = text.split("updated: ")[1][:32]
    assert text == (
        f"# our tags, by hand\nupdated: {stamp}\ntags:\n  # of the parser\n"
        f'  "c#":  # the language\n    - {first}  # where it began\n    - {second}\n  x:\n    - {first}\n'
        "  # to be removed\n# the end\n"
    )
    assert graph.check() == []


def test_the_same_line_below_two_keys_keeps_two_comments() -> None:
    old = """\
# head
updated: 1  # when
tags:  # all

  # of a
  a:  # first
    - n1  # one
    - n2
  b:
    - n1  # two
    # before n2
    - n2
  gone:  # lost
    # above
    - n9\t# lost too
# end
"""
    new = "updated: 2\ntags:\n  a:\n    - n1\n    - n2\n  b:\n    - n1\n    - n2\n    - n3\n"
    assert (
        with_comments(new, old)
        == """\
# head
updated: 2  # when
tags:  # all

  # of a
  a:  # first
    - n1  # one
    - n2
  b:
    - n1  # two
    # before n2
    - n2
    - n3
    # above
# lost
# lost too
# end
"""
    )
    said = "updated: 1\ntags:\n  a:\n    - n1\n    - n2\n  b:\n    - n1\n    - n2\n  gone:\n    - n9\n"
    assert without_comments(old) == said


def test_what_looks_like_a_comment_inside_quotes_is_none() -> None:
    old = 'updated: 1\ntags:\n  "topic #1":\n    - a\n'
    assert without_comments(old) == old
    assert with_comments(old, old) == old
