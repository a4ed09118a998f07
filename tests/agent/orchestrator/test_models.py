"""Who plans and who executes, by what is set up."""

from __future__ import annotations

import pytest

from nebula.agent.orchestrator.models import choose_models
from nebula.config import load_settings
from nebula.llm.errors import ModelError
from scripted_model import ScriptedModel, refused_url


@pytest.fixture
def server():
    with ScriptedModel() as running:
        yield running


async def chosen(tmp_path, environ, plans=True, executes=True, **overrides):
    home = {"NEBULA_HOME": str(tmp_path / "home"), "OLLAMA_HOST": ""}
    models = await choose_models(
        load_settings(str(tmp_path), home | environ, overrides), plans=plans, executes=executes
    )
    await models.close()
    names = [f"{each.provider}/{each.name}" for each in (models.planner, models.executor)]
    return names, [str(remark) for remark in models.remarks]


async def test_gemini_plans_and_ollama_executes(tmp_path, server):
    names, remarks = await chosen(tmp_path, server.env("gemini") | server.env("ollama"))
    assert names == ["gemini/gemini-2.5-flash", "ollama/hermes3:8b"] and remarks == []


async def test_the_users_own_model_plans_where_there_is_no_gemini(tmp_path, server):
    names, remarks = await chosen(tmp_path, server.env("openai") | server.env("ollama"))
    assert names == ["openai/gpt-4.1-nano", "ollama/hermes3:8b"] and remarks == []


async def test_only_ollama_does_both_and_says_so(tmp_path, server):
    names, remarks = await chosen(tmp_path, server.env("ollama"))
    assert names == ["ollama/hermes3:8b"] * 2
    assert remarks == ["No planner is set up: hermes3:8b plans as well (--planner chooses another)."]


async def test_only_a_cloud_model_does_both_and_says_so(tmp_path, server):
    names, remarks = await chosen(tmp_path, server.env("openai"), provider="openai")
    assert names == ["openai/gpt-4.1-nano"] * 2
    assert remarks == ["No executor is set up: gpt-4.1-nano executes as well (--executor chooses another)."]


async def test_a_planner_alone_executes_as_well(tmp_path, server):
    names, remarks = await chosen(tmp_path, server.env("openai"), planner="gpt-4.1-mini", provider="openai")
    assert names == ["openai/gpt-4.1-mini"] * 2
    assert "executes as well" in remarks[0]


async def test_each_is_named_by_itself(tmp_path, server):
    environ = server.env("openai") | server.env("ollama") | {"EC_MODEL_NAME": "qwen3:8b", "EC_PLANNER": "gpt-4.1-mini"}
    assert (await chosen(tmp_path, environ))[0] == ["openai/gpt-4.1-mini", "ollama/qwen3:8b"]
    assert (await chosen(tmp_path, environ, executor="openai/gpt-4.1-nano"))[0][1] == "openai/gpt-4.1-nano"


async def test_the_gemini_command_only_where_the_user_names_it(tmp_path, server):
    names, _ = await chosen(tmp_path, server.env("ollama"), planner="gemini-cli")
    assert names == ["gemini-cli/gemini-cli", "ollama/hermes3:8b"]
    (tmp_path / ".nebula").mkdir()
    (tmp_path / ".nebula" / "config.json").write_text('{"planner": "gemini-cli"}')
    names, _ = await chosen(tmp_path, server.env("ollama"))
    assert not names[0].startswith("gemini-cli/")


async def test_an_ollama_that_was_named_must_answer(tmp_path):
    with pytest.raises(ModelError):
        await chosen(tmp_path, {"OLLAMA_HOST": refused_url()})


async def test_only_a_plan_needs_no_executor(tmp_path, server):
    environ = server.env("openai") | {"OLLAMA_HOST": refused_url()}
    assert await chosen(tmp_path, environ, executes=False) == (["openai/gpt-4.1-nano"] * 2, [])
    assert (await chosen(tmp_path, environ, executes=False, planner="gpt-4.1-mini"))[0][0] == "openai/gpt-4.1-mini"
    names, remarks = await chosen(tmp_path, server.env("ollama"), executes=False)
    assert names == ["ollama/hermes3:8b"] * 2 and "plans as well" in remarks[0]


PLANNER_STANDS_IN = "No planner is set up: {} plans as well (--planner chooses another)."
EXECUTOR_STANDS_IN = "No executor is set up: {} executes as well (--executor chooses another)."


@pytest.mark.parametrize(
    ("wires", "overrides", "planner", "executor", "remarks"),
    [
        ("openai ollama", {"executor": "openai/gpt-4.1"}, "openai/gpt-4.1-nano", "openai/gpt-4.1", []),
        ("ollama", {"executor": "ollama/qwen3:8b"}, "ollama/qwen3:8b", "ollama/qwen3:8b", [PLANNER_STANDS_IN]),
        ("openai ollama", {"planner": "gpt-4.1-mini"}, "openai/gpt-4.1-mini", "ollama/hermes3:8b", []),
        ("openai gemini ollama", {}, "gemini/gemini-2.5-flash", "ollama/hermes3:8b", []),
        ("gemini openai ollama", {"model": "gpt-4.1"}, "openai/gpt-4.1", "ollama/hermes3:8b", []),
        ("gemini openai ollama", {"provider": "ollama"}, "ollama/hermes3:8b", "ollama/hermes3:8b", []),
        (
            "gemini openai",
            {"provider": "gemini"},
            "gemini/gemini-2.5-flash",
            "gemini/gemini-2.5-flash",
            [EXECUTOR_STANDS_IN],
        ),
        ("openai ollama", {"planner": "gemini-cli/pro"}, "gemini-cli/pro", "ollama/hermes3:8b", []),
        ("openai", {"planner": "gemini-cli", "provider": "openai"}, "gemini-cli/gemini-cli", "openai/gpt-4.1-nano", []),
    ],
)
async def test_who_does_what(tmp_path, server, wires, overrides, planner, executor, remarks):
    environ = {name: said for wire in wires.split() for name, said in server.env(wire).items()}
    names, said = await chosen(tmp_path, environ, **overrides)
    assert (names, said) == ([planner, executor], [each.format(executor.partition("/")[2]) for each in remarks])


@pytest.mark.parametrize("model", ["gpt-4.1", "gemini-2.5-pro", "gemini/gemini-2.5-pro", "openai/gpt-4.1"])
async def test_a_model_that_the_project_names_is_no_choice_of_the_planner(tmp_path, server, model):
    (tmp_path / ".nebula").mkdir()
    (tmp_path / ".nebula/config.json").write_text(f'{{"model": "{model}"}}')
    names, _ = await chosen(tmp_path, server.env("gemini") | server.env("openai") | server.env("ollama"))
    assert names == ["gemini/gemini-2.5-flash", "ollama/hermes3:8b"]


@pytest.mark.parametrize(
    ("wires", "overrides", "executor", "stands_in"),
    [
        ("openai ollama", {"executor": "openai/gpt-4.1"}, "openai/gpt-4.1", False),
        ("openai ollama", {}, "ollama/hermes3:8b", False),
        ("openai", {"provider": "openai"}, "openai/gpt-4.1-nano", True),
        ("openai", {"provider": "openai", "planner": "gpt-4.1-mini"}, "openai/gpt-4.1-mini", True),
        ("openai", {"provider": "openai", "planner": "gemini-cli"}, "openai/gpt-4.1-nano", True),
    ],
)
async def test_a_plan_that_is_there_needs_the_executor_alone(tmp_path, server, wires, overrides, executor, stands_in):
    environ = {name: said for wire in wires.split() for name, said in server.env(wire).items()}
    names, said = await chosen(tmp_path, environ, plans=False, **overrides)
    assert names == [executor] * 2
    assert said == ([EXECUTOR_STANDS_IN.format(executor.partition("/")[2])] if stands_in else [])
