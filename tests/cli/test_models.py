"""nebula models: the table of what can be chosen."""

from __future__ import annotations

from conftest import Bench
from in_process import run_here
from scripted_model import ScriptedModel


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


def test_a_provider_that_does_not_answer_is_named(bench: Bench) -> None:
    from scripted_model import refused_url

    ran = run_here(bench, "nebula", "models", OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{refused_url()}/v1")
    assert ran.code == 0 and "openai/gpt-4.1-nano" in ran.out and "nebula: openai:" in ran.err
