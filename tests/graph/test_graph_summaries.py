"""Building summaries and tags: through real connectors against a scripted model, and without any."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nebula.graph.graph import Graph
from nebula.graph.summaries.build import BuildProgress, build, build_node, build_one, due_ids, summary_prompt
from nebula.graph.summaries.extract import extract, frequent_terms, is_extract
from nebula.graph.summaries.reply import UnreadableReply
from nebula.llm.catalog import connect
from nebula.llm.choose import ChosenModel
from nebula.llm.errors import ModelError
from nebula.llm.http.retry import RetryPolicy
from scripted_model import Fault, RecordedRequest, ScriptedModel, Turn

GOOD = Turn("要約: 良い要約です。\nタグ: Python, 非同期, asyncio")


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return Graph(tmp_path / "graph")


@pytest.fixture(autouse=True)
def no_model_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment decides which model is asked; here it offers none."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_API_KEY", "NEBULA_MODEL", "NEBULA_PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NEBULA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")


ONCE = RetryPolicy(max_attempts=1)


def writer(server: ScriptedModel, provider: str = "openai", retry: RetryPolicy = ONCE) -> ChosenModel:
    names = {"openai": ("gpt-4.1-nano", server.openai_url), "gemini": ("gemini-2.5-flash", server.url)}
    name, url = names.get(provider, ("qwen3:8b", server.url))
    return ChosenModel(connect(provider, base_url=url, api_key="test-key", retry=retry), name)


def prompt_of(request: RecordedRequest) -> str:
    return str(request.json["messages"][0]["content"])


def test_the_prompt_is_that_of_seed_7_2_to_the_letter() -> None:
    assert summary_prompt("質問{x}", "{prompt} {response}") == (
        "あなたは会話ノードの要約とタグ付けを行う専門家です。\n"
        "以下のプロンプトと回答のペアを分析し、簡潔な要約とタグを生成してください。\n"
        "\n"
        "[プロンプト]\n"
        "質問{x}\n"
        "\n"
        "[回答]\n"
        "{prompt} {response}\n"
        "\n"
        "以下の形式で出力してください：\n"
        "要約: [30-50単語程度の簡潔な説明]\n"
        "タグ: [3-7個の重要キーワードをカンマ区切り]"
    )


def test_a_very_long_node_is_sent_as_its_beginning_and_end() -> None:
    sent = summary_prompt("p", "START " + "filler words " * 40_000 + " FINISH")
    assert len(sent) < 100_000 and "START" in sent and "FINISH" in sent


@pytest.mark.parametrize("provider", ["openai", "gemini", "ollama"])
async def test_any_connector_builds_what_is_due(graph: Graph, provider: str) -> None:
    node = graph.create_node("asyncio とは？", "非同期処理の仕組みです。")
    events: list[tuple[str, dict[str, Any]]] = []
    graph.subscribe(lambda name, data: events.append((name, data)))
    with ScriptedModel([GOOD]) as server:
        model = writer(server, provider)
        report = await build(graph, model=model)
        await model.connector.aclose()
    assert [outcome.node_id for outcome in report.built] == [node.id] and not report.failed
    built = graph.get_node(node.id)
    assert (built.summary, built.tags, built.updated) == ("良い要約です。", ["Python", "非同期", "asyncio"], False)
    assert built.last_built > node.last_built
    assert [name for name, _ in events] == ["summary_built"] and events[0][1]["node_id"] == node.id
    assert due_ids(graph) == []


async def test_edited_nodes_are_due_again_and_only_they(graph: Graph) -> None:
    first, second = (graph.create_node(text, "a") for text in ("one", "two"))
    with ScriptedModel([GOOD, GOOD, Turn("要約: 新しい。\nタグ: 新")]) as server:
        model = writer(server)
        await build(graph, model=model)
        graph.update_node(second.id, prompt="two, better")
        assert due_ids(graph) == [second.id]
        await build(graph, model=model)
        await model.connector.aclose()
        assert len(server.turns) == 3 and "two, better" in prompt_of(server.turns[2])
    assert graph.get_node(first.id).summary == "良い要約です。"
    edited = graph.get_node(second.id)
    assert (edited.summary, edited.tags, edited.updated) == ("新しい。", ["新"], False)


async def test_all_builds_every_node_oldest_first(graph: Graph) -> None:
    ids = [graph.create_node(f"p{i}", "a", summary="old").id for i in range(3)]
    with ScriptedModel(lambda _: GOOD) as server:
        model = writer(server)
        seen: list[BuildProgress] = []
        report = await build(graph, all=True, model=model, progress=seen.append, at_once=1)
        await model.connector.aclose()
    assert [outcome.node_id for outcome in report.built] == ids
    assert [(p.done, p.total, p.outcome.node_id) for p in seen] == [(i + 1, 3, ids[i]) for i in range(3)]


async def test_tags_set_by_hand_stay_and_those_of_an_earlier_build_go(graph: Graph) -> None:
    node = graph.create_node("p", "a", tags=["mine"])
    with ScriptedModel([Turn("要約: A\nタグ: x, y"), Turn("要約: B\nタグ: y, z"), Turn("要約: C")]) as server:
        model = writer(server)
        assert (await build_one(graph, node.id, model)).tags == ["mine", "x", "y"]
        graph.update_node(node.id, tags=["mine", "x", "y", "also mine"])
        assert (await build_one(graph, node.id, model)).tags == ["mine", "also mine", "y", "z"]
        assert (await build_one(graph, node.id, model)).tags == ["mine", "also mine", "y", "z"]
        await model.connector.aclose()


async def test_an_unreadable_reply_is_asked_for_once_more_with_the_reason(graph: Graph) -> None:
    node = graph.create_node("p", "a")
    with ScriptedModel([Turn("I cannot help with that."), GOOD]) as server:
        model = writer(server)
        assert (await build_one(graph, node.id, model)).summary == "良い要約です。"
        await model.connector.aclose()
        said = server.turns[1].json["messages"]
    assert [message["role"] for message in said] == ["user", "assistant", "user"]
    assert said[1]["content"] == "I cannot help with that." and "要約" in said[2]["content"]


async def test_one_failure_does_not_stop_the_rest_and_stays_due(graph: Graph) -> None:
    ids = [graph.create_node(text, "a").id for text in ("good one", "bad one", "good two")]

    def script(request: RecordedRequest) -> Turn:
        return Turn("no labels here") if "bad one" in prompt_of(request) else GOOD

    with ScriptedModel(script) as server:
        model = writer(server)
        report = await build(graph, model=model)
        assert [outcome.node_id for outcome in report.failed] == [ids[1]] and "要約" in report.failed[0].error
        assert {outcome.node_id for outcome in report.built} == {ids[0], ids[2]}
        assert due_ids(graph) == [ids[1]] and not report.not_tried
        with pytest.raises(UnreadableReply):
            await build_one(graph, ids[1], model)
        await model.connector.aclose()


async def test_a_server_fault_that_passes_is_met_by_a_second_try(graph: Graph) -> None:
    node = graph.create_node("p", "a")
    with ScriptedModel([Fault.status_code(503), GOOD]) as server:
        model = writer(server)
        report = await build(graph, model=model)
        await model.connector.aclose()
    assert [outcome.node_id for outcome in report.built] == [node.id]


async def test_a_wrong_key_ends_the_build_at_once(graph: Graph) -> None:
    ids = [graph.create_node(f"p{i}", "a").id for i in range(5)]
    with ScriptedModel([], api_key="right") as server:
        model = writer(server)
        report = await build(graph, model=model, at_once=1)
        await model.connector.aclose()
        assert len(server.requests) == 1
    assert report.stopped and [outcome.node_id for outcome in report.failed] == ids[:1]
    assert report.not_tried == ids[1:] and due_ids(graph) == ids


async def test_a_model_that_cannot_be_reached_is_not_tried_for_every_node(graph: Graph) -> None:
    for i in range(8):
        graph.create_node(f"p{i}", "a")
    with ScriptedModel(lambda _: Fault.reset()) as server:
        model = writer(server)
        report = await build(graph, model=model, at_once=1)
        await model.connector.aclose()
    assert len(report.failed) == 3 and len(report.not_tried) == 5 and report.stopped


async def test_a_build_that_is_stopped_keeps_what_is_done_and_goes_on_later(graph: Graph) -> None:
    ids = [graph.create_node(f"p{i}", "a").id for i in range(4)]
    with ScriptedModel(lambda _: GOOD) as server:
        model = writer(server)

        def stop_after_two(progress: BuildProgress) -> None:
            if progress.done == 2:
                task.cancel()

        task = asyncio.create_task(build(graph, model=model, progress=stop_after_two, at_once=1))
        with pytest.raises(asyncio.CancelledError):
            await task
        assert due_ids(graph) == ids[2:]
        assert len((await build(graph, model=model)).built) == 2
        await model.connector.aclose()
    assert due_ids(graph) == []


async def test_an_edit_while_the_model_writes_leaves_the_node_due(graph: Graph) -> None:
    node = graph.create_node("before", "a")

    def edit_meanwhile(_: RecordedRequest) -> Turn:
        graph.update_node(node.id, prompt="after")
        return GOOD

    with ScriptedModel(edit_meanwhile) as server:
        model = writer(server)
        await build(graph, model=model)
        await model.connector.aclose()
    assert graph.get_node(node.id).prompt == "after" and graph.get_node(node.id).updated
    assert due_ids(graph) == [node.id]


async def test_a_summary_far_over_the_limit_is_cut_at_a_sentence(graph: Graph) -> None:
    node = graph.create_node("p", "a")
    with ScriptedModel([Turn("要約: " + "これは長い文章です。" * 60 + "\nタグ: a")]) as server:
        model = writer(server)
        built = await build_one(graph, node.id, model)
        await model.connector.aclose()
    assert len(built.summary) < 300 and built.summary.endswith("です。")


async def test_without_a_model_extracts_stand_in_until_one_replaces_them(graph: Graph) -> None:
    node = graph.create_node(
        "asyncio の使い方は？", "イベントループを使います。asyncio.run から始めます。", tags=["mine"]
    )
    english = graph.create_node("How?", "Like this.")
    report = await build(graph)
    assert len(report.built) == 2
    extracted = graph.get_node(node.id)
    assert extracted.summary.startswith("[抜粋] asyncio の使い方は？ → イベントループを使います。")
    assert extracted.tags[0] == "mine" and "asyncio" in extracted.tags and not extracted.updated
    assert graph.get_node(english.id).summary.startswith("[extract] How? → Like this.")
    assert due_ids(graph, by_model=False) == []
    assert due_ids(graph, by_model=True) == [node.id, english.id]
    with ScriptedModel(lambda _: GOOD) as server:
        model = writer(server)
        await build(graph, model=model)
        await model.connector.aclose()
    assert graph.get_node(node.id).summary == "良い要約です。"
    assert graph.get_node(node.id).tags == ["mine", "Python", "非同期", "asyncio"]
    assert due_ids(graph) == []


def test_extracts_are_short_and_name_what_is_talked_about() -> None:
    code = "Use this:\n\n```python\nimport asyncio\n```\nThen run it. " + "More words follow here. " * 100
    made = extract("How do I start an event loop?", code, 50)
    assert is_extract(made.summary) and "import asyncio" not in made.summary and len(made.summary) < 400
    assert extract("", "", 50).summary == "[extract] (empty)"
    assert frequent_terms("グラフ グラフ ノード the the the graph Graph") == ["グラフ", "graph", "ノード"]


def test_a_caller_without_a_loop_builds_with_the_model_the_environment_offers(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = graph.create_node("p", "a")
    assert is_extract(build_node(graph, node.id).summary)
    with ScriptedModel(lambda _: GOOD) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        assert graph.build_summary(node.id).summary == "良い要約です。"
        assert server.turns[0].json["model"] == "gpt-4.1-nano"
        graph.build_summary(node.id, model="openai/gpt-4.1-mini")
        assert server.turns[1].json["model"] == "gpt-4.1-mini"


async def test_a_caller_inside_a_loop_can_wait_for_it_too(graph: Graph) -> None:
    node = graph.create_node("p", "a")
    assert is_extract(build_node(graph, node.id).summary)
    with pytest.raises(ModelError):
        build_node(graph, node.id, model="gemini/gemini-2.5-flash")
