"""Search: seed 004 §9.2, §12.4, §8.2; SPEC §11 (all must match, Japanese included)."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.files.home import derived_folder
from nebula.graph.derived import node_cache as node_cache_module
from nebula.graph.derived import search as search_module
from nebula.graph.derived.node_cache import NodeCache
from nebula.graph.derived.search_terms import index_text, match_expression, phrases
from nebula.graph.errors import NotFound
from nebula.graph.graph import Graph


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with Graph(tmp_path) as graph:
        yield graph


def found(graph: Graph, **query: object) -> list[str]:
    return [node.prompt for node in graph.search_nodes(**query)]  # type: ignore[arg-type]


def test_9_2_tags_and_keywords_together_must_all_match(graph: Graph) -> None:
    both = graph.create_node("both", tags=["タグ1", "タグ2"])
    graph.create_node("one", tags=["タグ1"])
    graph.save_summary(both.id, "索引のキーワードを説明する")
    assert set(found(graph, tags=["タグ1"])) == {"both", "one"}
    assert found(graph, tags=["タグ1", "タグ2"]) == ["both"]
    assert found(graph, tags=["タグ1", "タグ2"], keywords=["キーワード"]) == ["both"]
    assert found(graph, tags=["タグ1", "タグ2"], keywords=["キーワード"], text="both") == ["both"]
    assert found(graph, tags=["タグ1", "タグ2"], keywords=["他"]) == []
    assert found(graph, tags=["タグ1", "タグ2"], text="one") == []


def test_keywords_are_the_tags_and_the_words_of_the_summary(graph: Graph) -> None:
    node = graph.create_node("the prompt is no keyword", "nor is the answer", tags=["FastAPI", "two words"])
    graph.save_summary(node.id, "認証付きサーバーを作る。 Uses concatenation, C++ and build_summary.")
    hits = [
        "fastapi",
        "FASTAPI",
        "two words",
        "words",
        "認証",
        "サーバー",
        "作",
        "uses",
        "c++",
        "build_summary",
        "summary",
    ]
    for keyword in hits:
        assert found(graph, keywords=[keyword]), keyword
    for keyword in ["prompt", "answer", "cat", "サー認", "証サ", "c#", "...", "words認証", "fastapi two"]:
        assert not found(graph, keywords=[keyword]), keyword
    assert found(graph, keywords=["fastapi", "認証"])
    assert not found(graph, keywords=["fastapi", "nothing"])


def test_tags_match_whole_and_without_regard_to_case_and_width(graph: Graph) -> None:
    graph.create_node("x", tags=["Ｐｙｔｈｏｎ", "検索機能"])
    assert found(graph, tags=["python"]) == ["x"]
    assert found(graph, tags=["検索"]) == []
    assert found(graph, tags="検索機能") == ["x"]
    assert graph.list_tags() == {"Ｐｙｔｈｏｎ": 1, "検索機能": 1}


@pytest.mark.parametrize(
    "text",
    [
        "検索",
        "索",
        "検索機能",
        "ースの検",
        "sqlite",
        "SQLite",
        "sql",
        "FTS5",
        "getHistory",
        "history",
        "]]>",
        "🎉",
        "two words",
    ],
)
def test_full_text_of_any_length(graph: Graph, text: str) -> None:
    graph.create_node("データベースの検索機能🎉 ]]>", "SQLiteのFTS5と getHistory() in two words")
    graph.create_node("何もない", "nothing here")
    assert found(graph, text=text) == ["データベースの検索機能🎉 ]]>"]


def test_full_text_wants_every_word_and_quoted_runs_whole(graph: Graph) -> None:
    graph.create_node("red green blue")
    graph.create_node("green red")
    assert set(found(graph, text="red green")) == {"red green blue", "green red"}
    assert found(graph, text='"red green"') == ["red green blue"]
    assert found(graph, text="red missing") == []


def test_full_text_finds_summaries_and_tags_too(graph: Graph) -> None:
    node = graph.create_node("p", tags=["obscure"])
    graph.save_summary(node.id, "elaborate", ["obscure"])
    assert found(graph, text="obscure elaborate") == ["p"]


def test_better_matches_come_first(graph: Graph) -> None:
    graph.create_node("long " + "other " * 50 + "needle")
    tagged = graph.create_node("tagged")
    graph.save_summary(tagged.id, "about the needle", ["needle"])
    graph.create_node("needle needle")
    graph.create_node("nothing")
    assert found(graph, text="needle")[:1] == ["tagged"]
    assert found(graph, text="needle")[-1].startswith("long")


def test_equal_matches_come_newest_first_and_can_be_limited(graph: Graph) -> None:
    for number in range(5):
        graph.create_node(f"n{number}", tags=["t"])
    assert found(graph, tags=["t"]) == ["n4", "n3", "n2", "n1", "n0"]
    assert found(graph, tags=["t"], limit=2) == ["n4", "n3"]
    assert found(graph) == ["n4", "n3", "n2", "n1", "n0"]
    assert [node.prompt for node in graph.list_nodes(2, 1)] == ["n3", "n2"]


def test_what_changed_is_found_as_it_is_now(graph: Graph) -> None:
    node = graph.create_node("before", tags=["old"])
    assert found(graph, text="before") == ["before"]
    graph.update_node(node.id, prompt="after", tags=["new"])
    assert found(graph, text="before") == []
    assert found(graph, tags=["old"]) == []
    assert found(graph, tags=["new"], text="after") == ["after"]
    assert graph.list_tags() == {"new": 1}
    graph.delete_node(node.id)
    assert found(graph, text="after") == []
    assert graph.list_tags() == {}


def test_what_another_process_wrote_is_found(graph: Graph) -> None:
    assert found(graph, text="theirs") == []
    with Graph(graph.data_dir) as other:
        node = other.create_node("theirs")
        assert found(graph, text="theirs") == ["theirs"]
        other.update_node(node.id, prompt="changed")
        assert found(graph, text="theirs") == []
        assert graph.get_node(node.id).prompt == "changed"
        other.delete_node(node.id)
        assert found(graph) == []


def test_found_nodes_are_whole(graph: Graph) -> None:
    node = graph.create_node("p", "r\r\n\x00", tags=["t"], model="m")
    assert graph.search_nodes(tags=["t"]) == [graph.get_node(node.id)] == [node]


@given(st.text("漢字かなカナー、 ab", min_size=1, max_size=9), st.data())
def test_any_piece_of_a_run_of_japanese_is_found(text: str, data: st.DataObject) -> None:
    runs = [run for run in re.split("[、 ab]+", text) if run]
    if runs:
        run = data.draw(st.sampled_from(runs))
        start = data.draw(st.integers(0, len(run) - 1))
        piece = run[start : data.draw(st.integers(start + 1, len(run)))]
        expression = match_expression(piece, prefix=True)
        assert expression is not None
        wanted = expression.removesuffix(" *").strip('"')
        assert f" {wanted}" in " " + " ".join(index_text(text).split())


def test_a_long_run_of_letters_costs_no_more_than_its_length() -> None:
    dump = "0123456789abcdef" * 2500
    started = time.process_time()
    terms = index_text(f"getHistory {dump}").split()
    assert time.process_time() - started < 2, "half a minute where every letter looks at all that follow"
    assert terms == ["gethistory", "get", "history", dump]


def test_phrases_of_a_search_box() -> None:
    assert phrases('a "b c"  d"') == ["a", "b c", 'd"']


@pytest.mark.parametrize(
    "text", ["エラー404", "エラー4045", "404エラー", "API設計v2", "第3章overview", "x86向け", "日本語A"]
)
def test_japanese_beside_ascii_is_found_as_it_stands(graph: Graph, text: str) -> None:
    node = graph.create_node(f"画面に{text}が出た", "直した")
    graph.create_node("エラーは404ではない", "別の話")
    assert [found.id for found in graph.search_nodes(text=text)] == [node.id]
    assert [found.id for found in graph.search_nodes(text=f'"{text}"')] == [node.id]


def test_a_word_behind_japanese_may_be_the_beginning_of_a_longer_one(graph: Graph) -> None:
    node = graph.create_node("エラー4045が出た", "直した")
    assert [found.id for found in graph.search_nodes(text="エラー404")] == [node.id]
    assert graph.search_nodes(text="エラー40") == []


def test_a_large_graph_seen_for_the_first_time_answers_from_what_is_there(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        graph.create_node(f"needle {number}")
    graph.close()
    shutil.rmtree(derived_folder(graph.data_dir))
    monkeypatch.setattr(search_module, "_PATIENCE", 0.0)
    monkeypatch.setattr(node_cache_module, "_BATCH", 8)
    monkeypatch.setattr(NodeCache.read_some, "__defaults__", (8,))
    monkeypatch.setattr(graph._store, "_tidy", lambda: None)
    found = graph.search_nodes(text="needle")
    assert found.unread == 12
    assert {node.prompt for node in found} == {f"needle {number}" for number in range(12, 20)}
    assert len(graph.list_nodes()) == 20
    found = graph.search_nodes(text="needle")
    assert (len(found), found.unread) == (20, 0)


def test_a_search_says_how_many_there_are_beyond_its_limit(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        for number in range(3):
            graph.create_node(f"lamp {number}", tags=["light"])
        graph.create_node("table")
        found = graph.search_nodes(text="lamp", limit=2)
        assert (len(found), found.total) == (2, 3)
        assert graph.search_nodes(tags=["light"], text="lamp", limit=1).total == 3
        assert graph.search_nodes(text="lamp", limit=9).total == 3
        assert graph.search_nodes(limit=1).total == 4


@pytest.mark.parametrize(
    "query",
    [
        {"text": "x\0y"},
        {"text": "\0"},
        {"text": "| a | b |\n" * 400},
        {"text": " ".join("|" * n + "-" * (n % 7) for n in range(1, 1500))},
        {"text": 'a" OR "b" NEAR( * ^ : {'},
        {"tags": [f"tag{number}" for number in range(1500)]},
        {"keywords": [f"word{number}" for number in range(1500)]},
        {"model": "\0", "path": "\0"},
    ],
)
def test_whatever_is_asked_is_answered_and_the_database_stays(graph: Graph, query: dict[str, object]) -> None:
    node = graph.create_node("kept", "| a | b |", tags=["one"])
    graph.search_nodes(text="kept")
    database = Path(derived_folder(graph.data_dir)) / "graph.db"
    inode = database.stat().st_ino
    hits = graph.search_nodes(**query, limit=10)  # type: ignore[arg-type]
    assert (list(hits), hits.total) in (([], 0), ([node], 1))
    assert database.stat().st_ino == inode
    assert found(graph, text="kept") == ["kept"]


def test_a_question_that_makes_no_sense_is_an_error_and_costs_nothing(graph: Graph) -> None:
    graph.create_node("kept")
    graph.search_nodes(text="kept")
    cache = graph._store.node_cache
    with pytest.raises(Exception, match="no such column"):
        cache.ask("SELECT nonsense FROM files")
    assert cache._database.is_kept
    assert not cache._database.was_discarded


def test_half_a_surrogate_pair_is_nowhere(graph: Graph) -> None:
    """A shell hands on bytes that are no UTF-8 like this."""
    graph.create_node("p", "r")
    for half in ("\ud800", "\udcff\udcfe"):
        assert graph.search_nodes(text=half) == graph.search_nodes(tags=[half]) == []
        assert graph.get_nodes([half]) == {} and graph.find_files([half]) == []
        for ask in (graph.resolve_id, graph.get_node, graph.delete_node):
            with pytest.raises(NotFound):
                ask(half)


def test_signs_are_found_where_they_are_said_and_nowhere_else(graph: Graph) -> None:
    for text in ("plain", "a list []", "x, y", "key: value", "a-b", "[[wiki]]"):
        graph.create_node(text)
    for signs, said in (("[]", "a list []"), (",", "x, y"), (":", "key: value"), ("[[", "[[wiki]]"), ("-", "a-b")):
        assert found(graph, text=signs) == [said]
    assert found(graph, text='"') == []
    assert found(graph, text="[ ]") == ["[[wiki]]", "a list []"]
    assert graph.search_nodes(text=",", limit=1).total == 1


def test_many_tags_must_all_be_there(graph: Graph) -> None:
    graph.create_node("all", tags=[f"t{number}" for number in range(1200)])
    graph.create_node("most", tags=[f"t{number}" for number in range(1199)])
    assert found(graph, tags=[f"t{number}" for number in range(1200)]) == ["all"]


def test_a_search_with_patience_is_whole(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        graph.create_node(f"needle {number}")
    graph.close()
    shutil.rmtree(derived_folder(graph.data_dir))
    monkeypatch.setattr(search_module, "_PATIENCE", -1.0)
    monkeypatch.setattr(node_cache_module, "_BATCH", 4)
    read_some = NodeCache.read_some
    monkeypatch.setattr(NodeCache, "read_some", lambda self, limit=4: read_some(self, limit))
    partial = graph.search_nodes(text="needle")
    assert 0 < len(partial) < 20 and partial.unread == 20 - len(partial)
    whole = graph.search_nodes(text="needle", patience=60)
    assert (len(whole), whole.unread) == (20, 0)
