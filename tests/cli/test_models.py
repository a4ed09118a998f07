"""nebula models: the table of what can be chosen."""

from __future__ import annotations

import pytest

from conftest import Bench
from in_process import run_here
from nebula.cli.terminal.output.width import display_width
from nebula.graph.graph import Graph
from scripted_model import ScriptedModel, Turn


def test_models_are_listed_with_context_and_prices(bench: Bench) -> None:
    names = {"openai": ("gpt-5-mini", "house-model"), "ollama": ("qwen3:8b",)}
    with ScriptedModel(models=names) as server:
        env = server.env() | server.env("ollama")
        shown = run_here(bench, "nebula", "models", **env)
        found = run_here(bench, "nebula", "models", "--json", **env).json
        assert server.turns == []
    by_name = {each["model"]: each for each in found}
    mini = by_name["gpt-5-mini"]
    assert (mini["input"], mini["cached_input"], mini["output"], mini["effort"]) == (0.25, 0.025, 2.0, True)
    assert (by_name["house-model"]["input"], by_name["house-model"]["prices_of"]) == (None, None)
    assert by_name["qwen3:8b"]["input"] == 0.0
    assert "gpt-4.1-nano" in by_name  # offered first, listed or not
    lines = {line.split()[0]: line.split()[1:] for line in shown.out.splitlines() if line.startswith("openai/")}
    assert lines["openai/gpt-5-mini"] == ["400,000", "0.25", "0.025", "2", "✓"]
    assert lines["openai/house-model"][1:] == ["?", "?", "?"]


def test_an_address_without_a_list_is_not_told_to_pull_a_model_without_a_name(bench: Bench) -> None:
    with ScriptedModel() as server:
        ran = run_here(bench, "nebula", "models", OLLAMA_HOST=f"{server.url}/elsewhere")
    assert "has no list of models at this address" in ran.err and "OLLAMA_HOST" in ran.err
    assert "ollama pull" not in ran.err


def test_the_columns_stand_under_their_heads_in_japanese(bench: Bench) -> None:
    with ScriptedModel(models={"openai": ("gpt-4.1-nano",)}) as server:
        head, row, *_ = run_here(bench, "nebula", "models", NEBULA_LANG="ja", **server.env()).out.splitlines()
    ends = [
        display_width(head[: head.index(word) + len(word)]) for word in ("コンテキスト", "入力", "キャッシュ", "出力")
    ]
    cells = row.split()
    assert [display_width(row[: row.index(f" {cell}") + len(cell) + 1]) for cell in cells[1:5]] == ends


def test_a_provider_that_does_not_answer_is_named(bench: Bench) -> None:
    from scripted_model import refused_url

    ran = run_here(bench, "nebula", "models", OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{refused_url()}/v1")
    assert ran.code == 0 and "openai/gpt-4.1-nano" in ran.out and "nebula: openai:" in ran.err


CONFIG = """\
version: "1.0"
settings:
  default_llm_provider: {provider}
  default_model: {model}
  auto_summary: false
"""


@pytest.mark.parametrize(
    ("provider", "model", "argv", "env", "asked"),
    [
        ("openai", "gpt-4.1-mini", (), {}, "gpt-4.1-mini"),
        ("openai", "gpt-4.1-mini", ("-m", "gpt-5-mini"), {}, "gpt-5-mini"),
        ("openai", "gpt-4.1-mini", (), {"NEBULA_MODEL": "gpt-5-mini"}, "gpt-5-mini"),
        ("openai", "gpt-4", (), {}, "gpt-4.1"),  # what stands there when the file is made is nobody's choice
        ("gemini", "gemini-2.5-flash", (), {}, "gpt-4.1"),  # a clone does not choose the user's provider
        ("openai", "[", (), {}, "gpt-4.1"),
    ],
)
def test_a_task_heeds_the_model_that_the_graph_names(
    bench: Bench, provider: str, model: str, argv: tuple[str, ...], env: dict[str, str], asked: str
) -> None:
    run_here(bench, "nebula", "config", "set", "model", "openai/gpt-4.1")
    bench.write(".nebula/graph/config.yaml", CONFIG.format(provider=provider, model=model))
    with ScriptedModel([Turn("Yes.")]) as server:
        ran = run_here(bench, "nebula", "-p", "which?", *argv, **server.env(), **env)
    assert ran.code == 0, ran.err
    assert server.turns[0].json["model"] == asked


@pytest.mark.parametrize(("wire", "rate"), [("ollama", 100_000.0), ("openai", 0.0)])
def test_a_node_says_how_fast_its_prompt_was_read_where_a_server_tells(bench: Bench, wire: str, rate: float) -> None:
    with ScriptedModel(
        [Turn("Yes.", input_tokens=100)]
    ) as server:  # its Ollama reads a hundred tokens in a millisecond
        ran = run_here(bench, "nebula", "-p", "word " * 400, "--output-format", "json", **server.env(wire))
    [node] = Graph(bench.project / ".nebula/graph").list_nodes(10, 0)
    said = node.texts[0]
    assert (ran.code, node.id, said.role, said.rate) == (0, ran.json["node_id"], "user", rate)
    assert said.duration == (round(said.count / rate, 2) if rate else 0.0)


def test_what_nobody_set_up_is_not_missed(bench: Bench) -> None:
    (bench.home / ".nebula" / "models").mkdir(parents=True)
    with ScriptedModel() as server:
        told = run_here(bench, "nebula", "models", **server.env())
        listed = run_here(bench, "nebula", stdin="/model\n\nexit\n", **server.env())
    nothing = run_here(bench, "nebula", "models")
    assert (nothing.out, nothing.err) == ("", "No model can be reached. `nebula doctor` says what to set.\n")
    assert told.err == "" and "openai/gpt-4.1-nano" in told.out
    assert "gpt-4.1-nano (openai)" in listed.out and "ollama:" not in listed.out and "local:" not in listed.out
