"""The table of providers: what follows from it, and that nothing else says it a second time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from nebula.config.settings import TABLE
from nebula.llm.catalog import context_length, cost, known_provider, short_name, sum_costs
from nebula.llm.contract import Usage
from nebula.providers import PROVIDERS
from rows import each_row

MILLION = Usage(1_000_000, 1_000_000)

NEW_ROW = """
import sys
from nebula.providers import PROVIDERS, Provider
PROVIDERS["acme"] = Provider(
    "acme", "Acme", "nebula.llm.openai:OpenAIModel",
    default_address="https://acme.example/v1", address_variables=("ACME_URL",), key_variable="ACME_API_KEY",
)
from nebula.cli.nebula import main
"""
"""As a file of the program would have it: the row is there before anything else is loaded."""


def with_new_row(code: str, **env: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", NEW_ROW + code], capture_output=True, text=True, env=os.environ | env, check=True
    )
    return ran.stdout


@pytest.mark.slow
def test_a_row_is_all_that_the_settings_and_the_command_line_need(tmp_path: Path) -> None:
    shown = with_new_row(
        "main(['--provider', 'acme', '--version']); main(['config', '--json'])",
        NEBULA_HOME=str(tmp_path),
        NEBULA_PROVIDER="acme",
        ACME_API_KEY="key-of-acme",
    )
    found = json.loads(shown[shown.index("{") :])
    assert found["provider"]["value"] == "acme"
    assert found["acme_api_key"] == {"value": "(set)", "origin": "environment"}
    assert found["acme_url"]["value"] == "https://acme.example/v1"
    assert "key-of-acme" not in shown


@pytest.mark.slow
def test_help_names_the_providers_and_loads_nothing_about_them() -> None:
    code = """
try:
    main(['--help'])
finally:
    print([name for name in sys.modules if name.startswith(('nebula.llm', 'nebula.config', 'nebula.messages'))])
"""
    shown = with_new_row(code)
    assert "{openai,gemini,anthropic,ollama,local,acme}" in shown
    assert shown.splitlines()[-1] == "[]"


@each_row("row", PROVIDERS.values(), ids=PROVIDERS)
def test_a_row_names_what_there_is(row) -> None:
    module, _, name = row.connector.partition(":")
    assert getattr(import_module(module), name).provider == row.name
    for setting in filter(None, (row.address, row.key)):
        assert setting.upper() in TABLE[setting].variables
    assert not row.key or TABLE[row.key].secret


@each_row(
    ("model", "expected"),
    [
        ("gpt-4.1", 10.0),
        ("gpt-4.1-mini", 2.0),
        ("gpt-4.1-nano", 0.5),
        ("gpt-4.1-nano-2025-04-14", 0.5),  # the longest name counts, not the first that fits
        ("gpt-4.1-2025-04-14", 10.0),
        ("gpt-4o-mini-2024-07-18", 0.75),
        ("openai/gpt-4o", 12.5),
        ("gemini-2.5-flash", 2.8),
        ("gemini-2.5-flash-lite", 0.5),
        ("gemini-2.5-pro", 17.5),  # a long request has a price of its own
        ("claude-haiku-5-5", 3.0),
        ("claude-sonnet-4-5-20250929", 18.0),
        ("gemini-2.5-flash-preview-05-20", 2.8),
        ("gemini-2.0-flash-001", 0.5),
        ("gpt-4.1-ultra", None),  # another model, not a dated version
        ("gemini-2.0-flash-lite", None),
        ("gpt-5", 11.25),
        ("gpt-5.5", None),  # the price of so long a request is not known
        ("claude-sonnet-4-9", None),  # another version, not a date
        ("my-own", None),
    ],
)
def test_a_price_is_that_of_the_model_or_unknown(model: str, expected: float | None) -> None:
    found = cost("openai", model, MILLION)
    assert found == (pytest.approx(expected) if expected is not None else None)


@each_row(
    ("model", "usage", "expected"),
    [
        ("gpt-4.1-nano", Usage(1000, 100, 400), (600 * 0.10 + 400 * 0.025 + 100 * 0.40) / 1e6),
        ("gpt-5-pro", Usage(1000, 100, 400), (1000 * 15 + 100 * 120) / 1e6),  # cached input has no price of its own
        ("gemini-2.5-pro", Usage(1000, 100, 400), (600 * 1.25 + 400 * 0.125 + 100 * 10) / 1e6),
        ("gemini-2.5-pro", Usage(300_000, 100, 0), (300_000 * 2.5 + 100 * 15) / 1e6),
        ("claude-sonnet-5-5", Usage(1000, 100, 400, 300), (300 * 2 + 400 * 0.10 + 300 * 2.5 + 100 * 10) / 1e6),
    ],
)
def test_each_kind_of_token_has_its_price(model: str, usage: Usage, expected: float) -> None:
    assert cost("openai", model, usage) == pytest.approx(expected)


def test_a_sum_of_requests_is_not_taken_for_a_long_one() -> None:
    assert cost("gemini", "gemini-2.5-pro", Usage(300_000, 0), is_sum=True) == pytest.approx(0.375)
    assert cost("openai", "gpt-5.5", Usage(300_000, 0)) is None


def test_what_a_server_told_nothing_of_has_no_price() -> None:
    assert cost("openai", "gpt-4.1-nano", Usage()) is None
    assert cost("openai", "gpt-4.1-nano", Usage(0, 4)) is None
    assert cost("openai", "gpt-4.1-nano", Usage(), is_sum=True) == 0.0, "nothing was asked"
    assert cost("ollama", "qwen3:8b", Usage()) == 0.0


def test_a_provider_that_is_not_known_has_no_price() -> None:
    assert cost("gemini-cli", "gemini-2.5-pro", MILLION) is None
    assert cost("", "gpt-4.1", MILLION) is None
    assert sum_costs([0.25, 0.5]) == 0.75
    assert sum_costs([0.25, None, 0.5]) is None


def test_what_runs_here_costs_nothing() -> None:
    assert cost("ollama", "gpt-4.1", MILLION) == 0.0
    assert cost("replay", "recording", MILLION) == 0.0


@pytest.mark.parametrize(
    ("model", "expected"),
    [("gpt-4.1-nano", 1_047_576), ("gpt-5-mini", 400_000), ("gemini-9", 1_048_576), ("own", 128_000)],
)
def test_the_context_of_a_model_by_its_family(model: str, expected: int) -> None:
    assert context_length(model) == expected


@each_row(
    ("model", "expected"),
    [
        ("gpt-4.1", "openai"),
        ("o4-mini", "openai"),
        ("gpt-oss", ""),
        ("gpt-oss:20b", ""),
        ("gemini-x", "gemini"),
        ("org/gpt-4", ""),
    ],
)
def test_a_name_that_says_whose_it_is(model: str, expected: str) -> None:
    assert known_provider(model) == expected


def test_a_model_in_a_file_is_shown_by_the_files_own_name() -> None:
    assert short_name("/home/me/models/SmolLM2-135M-Instruct.Q4_1.gguf") == "SmolLM2-135M-Instruct.Q4_1"
    assert [short_name(name) for name in ("gpt-4.1-nano", "qwen3:8b", "org/model")] == [
        "gpt-4.1-nano",
        "qwen3:8b",
        "org/model",
    ]
