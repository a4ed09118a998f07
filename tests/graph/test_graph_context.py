"""The context of a prompt: seed §7.3 under a token budget."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nebula.graph.context.packing import Packer
from nebula.graph.context.preview import ContextPreview, preview_context
from nebula.graph.context.text import ENGLISH
from nebula.graph.errors import BadRequest, NotFound
from nebula.graph.graph import Graph
from nebula.graph.tokens import estimate_tokens
from nebula.graph.values import Node, Utterance
from rows import each_row

NOBODY = "0123abcd-0000-7000-8000-000000000000"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return Graph(tmp_path / "graph")


def chain(graph: Graph, length: int, *, answer: str = "answer {i}", summary: str = "summary {i}") -> list[str]:
    ids: list[str] = []
    for i in range(length):
        node = graph.create_node(
            f"prompt {i}",
            answer.format(i=i),
            summary=summary.format(i=i),
            tags=[f"tag{i}"],
            parents=ids[-1:],
        )
        ids.append(node.id)
    return ids


def forms(preview: ContextPreview) -> list[tuple[str, str]]:
    return [(part.node_id, part.form) for part in preview.parts]


def test_the_text_has_the_layout_of_seed_7_3(graph: Graph) -> None:
    first, second, third = chain(graph, 3)
    other = graph.create_node("q", "a", summary="別の要約", tags=["タグ1", "タグ2"]).id
    preview = preview_context(graph, [third], "次は？", references=[other])
    assert preview.text == (
        "以下の情報を参照して回答してください：\n"
        "\n"
        "1. 現在のフロー:\n"
        "次は？\n"
        "\n"
        "2. 会話の流れ:\n"
        f"[{first}]: summary 0\n"
        f"[{second}]: summary 1\n"
        f"[{third}]\n"
        "[プロンプト]\n"
        "prompt 2\n"
        "[回答]\n"
        "answer 2\n"
        "\n"
        "3. 参照情報:\n"
        f"[{other}]: 別の要約 #タグ1 #タグ2\n"
        "\n"
        "詳細情報が必要な場合は「[ノードID]の詳細を知りたい」と指示できます。"
    )
    assert forms(preview) == [(first, "summary"), (second, "summary"), (third, "full"), (other, "tags")]
    assert preview.left_out == []


def test_english_words_and_a_system_text_without_the_prompt(graph: Graph) -> None:
    ids = chain(graph, 2)
    preview = preview_context(graph, ids[-1:], "and then?", lang="en")
    assert preview.text.startswith("Answer with the following information in mind:\n\n1. Current flow:\nand then?\n")
    assert "and then?" not in preview.system
    assert preview.system.startswith("Answer with the following information in mind:\n\n2. The conversation so far:\n")


def test_without_a_node_there_is_nothing_to_tell(graph: Graph) -> None:
    preview = preview_context(graph, [], "hello")
    assert (preview.parts, preview.left_out, preview.system) == ([], [], "")


def test_the_json_form_is_that_of_the_contract(graph: Graph) -> None:
    ids = chain(graph, 2)
    shown = preview_context(graph, ids[-1:], "x").to_json()
    assert {"parts", "total_tokens", "left_out"} <= set(shown)
    assert [set(part) for part in shown["parts"]] == [{"node_id", "form", "tokens", "text"}] * 2
    assert shown["total_tokens"] == sum(part["tokens"] for part in shown["parts"])


def test_merged_parents_are_interleaved_in_time_without_repeating_ancestors(graph: Graph) -> None:
    root = graph.create_node("root", "r", summary="s").id
    left1 = graph.create_node("l1", "", parents=[root]).id
    right1 = graph.create_node("r1", "", parents=[root]).id
    left2 = graph.create_node("l2", "", parents=[left1]).id
    right2 = graph.create_node("r2", "", parents=[right1]).id
    preview = preview_context(graph, [right2, left2])
    assert [part.node_id for part in preview.parts] == [root, left1, right1, left2, right2]
    assert dict(forms(preview))[left2] == dict(forms(preview))[right2] == "full"
    # The same again behind a node that has merged them.
    merged = graph.create_node("m", "", parents=[left2, right2]).id
    behind = preview_context(graph, [merged])
    assert [part.node_id for part in behind.parts] == [root, left1, right1, left2, right2, merged]


def test_a_rebuilt_flow_is_told_in_its_own_order_not_by_time(graph: Graph) -> None:
    first, second, third = chain(graph, 3)
    graph.rebuild_flow("main", [third, first, second])
    assert [part.node_id for part in preview_context(graph, [second]).parts] == [third, first, second]


def test_the_path_is_looked_for_in_the_flow_that_is_named(graph: Graph) -> None:
    first, second = chain(graph, 2)
    graph.create_flow("side")
    other = graph.create_node("side", "s", flow="side").id
    graph.connect_nodes(other, second, flow="side")
    assert [p.node_id for p in preview_context(graph, [second], flow="side").parts] == [other, second]
    assert [p.node_id for p in preview_context(graph, [second]).parts] == [first, second]
    alone = preview_context(graph, [other])
    assert [p.node_id for p in alone.parts] == [other]


def test_an_id_in_the_prompt_is_a_reference_and_only_a_parameter_asks_for_the_whole(graph: Graph) -> None:
    ids = chain(graph, 4, answer="the long answer {i}")
    other = graph.create_node("q", "the other answer", summary="短い", tags=["x y"]).id
    mention = preview_context(graph, ids[-1:], f"compare with {other}, please. {NOBODY}")
    assert mention.parts[-1].form == "tags"
    assert mention.parts[-1].text == f"[{other}]: 短い #x_y"
    for words in (f"[{ids[0]}]の詳細を知りたい", f"I want to know the details of [{ids[0]}]"):
        assert forms(preview_context(graph, ids[-1:], words))[0] == (ids[0], "summary")
    asked = preview_context(graph, ids[-1:], "x", full=[ids[0], other])
    assert forms(asked)[0] == (ids[0], "full") and forms(asked)[-1] == (other, "full")
    assert "the long answer 0" in asked.parts[0].text


def test_a_node_without_a_current_summary_is_told_by_its_own_words(graph: Graph) -> None:
    ids = chain(graph, 3, summary="")
    preview = preview_context(graph, ids[-1:])
    assert [part.form for part in preview.parts] == ["summary", "summary", "full"]
    assert preview.parts[0].text == f"[{ids[0]}]: prompt 0 → answer 0"


def test_a_small_budget_sheds_the_oldest_and_says_so(graph: Graph) -> None:
    ids = chain(graph, 40, summary="summary {i} " + "with many words in it " * 4)
    preview = preview_context(graph, ids[-1:], "next", budget=800)
    told = [part.node_id for part in preview.parts]
    assert preview.left_out == ids[: len(ids) - len(told)]
    assert told == ids[len(ids) - len(told) :]
    assert preview.parts[-1].form == "full"
    assert f"{len(preview.left_out)} 個のノードを省略" in preview.text
    assert estimate_tokens(preview.text) <= 800


def test_tags_alone_stand_in_before_a_node_is_left_out(graph: Graph) -> None:
    ids = chain(graph, 3, summary="summary {i} " + "with many words in it " * 40)
    preview = preview_context(graph, ids[-1:], budget=preview_context(graph, ids[-1:]).total_tokens)
    assert [part.form for part in preview.parts] == ["tags", "summary", "full"]
    assert preview.parts[0].text == f"[{ids[0]}]: #tag0"


def test_a_predecessor_that_is_too_large_shows_its_beginning_and_its_end(graph: Graph) -> None:
    answer = "BEGIN " + "filler words go here " * 2000 + " END"
    node = graph.create_node("prompt", answer).id
    preview = preview_context(graph, [node], budget=500)
    assert forms(preview) == [(node, "summary")]
    assert "BEGIN" in preview.text and preview.text.count("END") == 1 and "…" in preview.text
    assert estimate_tokens(preview.text) <= 500


def test_two_large_predecessors_share_the_room(graph: Graph) -> None:
    small = graph.create_node("small", "s").id
    large = graph.create_node("large", "words of an answer " * 3000).id
    larger = graph.create_node("larger", "words of an answer " * 6000).id
    preview = preview_context(graph, [larger, small, large], budget=2000)
    by_id = {part.node_id: part for part in preview.parts}
    assert by_id[small].form == "full"
    assert 700 < by_id[large].tokens < 1000 and 700 < by_id[larger].tokens < 1000


def test_a_prompt_larger_than_the_budget_leaves_the_nodes_out_and_stays_whole(graph: Graph) -> None:
    ids = chain(graph, 2)
    prompt = "word " * 500
    preview = preview_context(graph, ids[-1:], prompt, budget=50)
    assert preview.parts == [] and preview.left_out == ids
    assert prompt in preview.text


def test_a_node_that_is_not_there_is_an_error_and_one_lost_from_the_path_is_left_out(graph: Graph) -> None:
    first, second, third = chain(graph, 3)
    with pytest.raises(NotFound):
        preview_context(graph, [NOBODY])
    with pytest.raises(NotFound):
        preview_context(graph, [third], references=[NOBODY])
    with pytest.raises(BadRequest):
        preview_context(graph, [third], budget=0)
    path = next(Path(graph.data_dir).glob("nodes/000/001.xml"))
    path.write_text("<broken", encoding="utf-8")
    preview = preview_context(graph, [third])
    assert [part.node_id for part in preview.parts] == [first, third]
    assert preview.left_out == [second]


def test_a_circle_made_by_hand_is_told_once_round(graph: Graph) -> None:
    first, second, third = chain(graph, 3)
    path = next(Path(graph.data_dir).glob("flows/000/000.yaml"))
    path.write_text(path.read_text(encoding="utf-8") + "  - from: 3\n    to: 1\n", encoding="utf-8")
    assert [part.node_id for part in preview_context(Graph(graph.data_dir), [third]).parts] == [first, second, third]
    beginning = preview_context(Graph(graph.data_dir), [first])
    assert {part.node_id for part in beginning.parts} == {first, second, third}


def test_invisible_tag_characters_do_not_reach_the_model(graph: Graph) -> None:
    node = graph.create_node("visible\U000e0041\U000e0042", "x").id
    preview = preview_context(graph, [node])
    assert "\U000e0041" not in preview.text + preview.system
    assert "visible" in preview.text


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.tuples(st.text(max_size=400), st.text(max_size=400)), min_size=1, max_size=6),
    budget=st.integers(min_value=150, max_value=3000),
)
@pytest.mark.slow
def test_whatever_the_nodes_say_the_budget_holds_and_nobody_vanishes(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]], budget: int
) -> None:
    graph = Graph(tmp_path_factory.mktemp("graph"))
    ids: list[str] = []
    for number, (prompt, response) in enumerate(texts):
        tags = [f"tag{number}"] if number % 2 else []
        ids.append(graph.create_node(prompt * 3, response, parents=ids[-1:], tags=tags).id)
    preview = preview_context(graph, ids[-1:], "next?", budget=budget)
    shown = [part.node_id for part in preview.parts]
    assert [*preview.left_out, *shown] == ids
    assert preview.total_tokens + preview.frame_tokens <= budget


@pytest.mark.slow
def test_a_path_of_two_hundred_turns_is_previewed_fast(graph: Graph) -> None:
    answer = "Answer {i}. " + "A sentence of ordinary length, as models write them. " * 40
    ids = chain(graph, 200, answer=answer, summary="")
    seconds = []
    for _ in range(3):
        start = time.process_time()
        preview = preview_context(Graph(graph.data_dir), ids[-1:], "next?", budget=100_000)
        seconds.append(time.process_time() - start)
    assert len(preview.parts) == 200
    assert min(seconds) < 0.6  # 0.1 s on a quiet machine, opening the graph included; the promise is 0.15


@each_row("room", range(10, 400, 10))
def test_a_path_has_no_holes_whatever_the_room_is(room: int) -> None:
    """The first node that finds no room ends it, even where an older, shorter one would fit."""
    lengths = (5, 5, 200, 5, 60, 5)
    path = [f"n{place}" for place in range(len(lengths))]
    nodes = {
        node_id: Node(node_id, "2026-01-01T00:00:00+00:00", (Utterance("user", "q"),), summary="word " * length)
        for node_id, length in zip(path, lengths, strict=True)
    }
    packer = Packer(nodes.get, ENGLISH, room)
    packer.pack_earlier(path)
    assert path[len(path) - len(packer.parts) :] == [node_id for node_id in path if node_id in packer.parts]
    assert sum(part.tokens for part in packer.parts.values()) <= room


def test_a_node_that_cannot_be_read_does_not_end_a_path() -> None:
    node = Node("a", "2026-01-01T00:00:00+00:00", (Utterance("user", "q"),), summary="words")
    packer = Packer({"a": node}.get, ENGLISH, 100)
    packer.pack_earlier(["a", "gone"])
    assert list(packer.parts) == ["a"]
