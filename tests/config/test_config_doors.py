"""The same through the real commands: what a project's config cannot do, and what a user without a model reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import Bench
from scripted_model import ScriptedModel, Turn, refused_url

pytestmark = pytest.mark.slow


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(4 << 30)


def _broken(path: Path) -> None:
    path.write_text('{"model": ', encoding="utf-8")


@pytest.mark.parametrize("plant", [_endless, _sparse, _broken, os.mkfifo, os.mkdir])
def test_a_turn_goes_on_beside_a_broken_project_config(bench: Bench, plant: object) -> None:
    (bench.project / ".nebula").mkdir()
    plant(bench.project / ".nebula/config.json")  # type: ignore[operator]
    with ScriptedModel([Turn("done")]) as server:
        ran = bench.run("nebula", "-p", "go", **server.env())
    assert (ran.code, ran.out.strip()) == (0, "done")
    assert ran.err.count("config.json") == 1 and "Traceback" not in ran.err


def test_the_prompt_stays_with_the_provider_that_the_user_chose(bench: Bench) -> None:
    bench.write(".nebula/config.json", '{"model": "openai/gpt-4.1", "planner": "openai/gpt-4.1"}')
    with ScriptedModel([Turn("local")]) as ollama, ScriptedModel([Turn("cloud")]) as cloud:
        env = cloud.env("openai") | ollama.env("ollama") | {"NEBULA_PROVIDER": "ollama"}
        ran = bench.run("nebula", "-p", "go", **env)
        assert not cloud.requests
    assert ran.out.strip() == "local" and "gpt-4.1" in ran.err and "ignored" in ran.err


def test_an_unknown_key_is_shown_without_what_a_terminal_obeys(bench: Bench) -> None:
    bench.write(".nebula/config.json", '{"\\u001b]0;x\\u0007\\u009b31m": 1}')
    with ScriptedModel([Turn("done")]) as server:
        ran = bench.run("nebula", "-p", "go", **server.env())
    assert ran.code == 0 and not {"\x1b", "\x07", "\x9b"} & set(ran.err)


def test_doctor_shows_addresses_without_their_passwords(bench: Bench) -> None:
    with ScriptedModel() as server:
        address = server.openai_url.replace("http://", "http://me:pa55word@")
        env = {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": address, "OLLAMA_HOST": "u:hunter22@127.0.0.1:9"}
        ran = bench.run("nebula", "doctor", **env)
    assert server.openai_url in ran.out
    assert not any(secret in ran.out + ran.err for secret in ("pa55word", "hunter22", "sk-secret"))


@pytest.mark.parametrize(("lang", "said"), [("en", "No model can be reached."), ("ja", "使えるモデルがありません。")])
def test_without_a_model_the_line_to_type_is_shown(bench: Bench, lang: str, said: str) -> None:
    ran = bench.run("nebula", "-p", "go", OLLAMA_HOST=refused_url(), NEBULA_LANG=lang)
    assert ran.code == 1 and said in ran.err
    assert "export OPENAI_API_KEY=…" in ran.err and "export GEMINI_API_KEY=…" in ran.err


def test_a_provider_error_is_said_in_japanese(bench: Bench) -> None:
    with ScriptedModel(api_key="right") as server:
        ran = bench.run("nebula", "-p", "go", **server.env() | {"OPENAI_API_KEY": "wrong", "NEBULA_LANG": "ja"})
    assert ran.code == 1 and "鍵を受け付けませんでした" in ran.err and "OPENAI_API_KEY" in ran.err
