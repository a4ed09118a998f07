"""Steps that name a check or a tool, and tasks that are ended from outside."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent.orchestrator.asked_task import Asked, states
from nebula.agent.orchestrator.models import TaskModels
from nebula.agent.orchestrator.run import run_task
from nebula.agent.orchestrator.task import TaskRequest
from nebula.agent.plan.plan import read_plan
from nebula.config import load_settings
from nebula.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from nebula.events import Error
from nebula.llm.choose import ChosenModel
from nebula.testing import ScriptedConnector
from scripted_model import Fault, ScriptedModel
from scripted_model.planned import HERMES, Call, Turn, hermes, plan, say, step, write

AGAIN = "A step failed for good; the planner is asked once more."


async def test_a_kind_of_check_that_is_not_configured_is_said(carry_out: Any) -> None:
    for settings in ({}, {"checks": ("ruff() { true; }; ruff",), "trust": True}):
        done = await carry_out([], step("1", tool="run.test"), step("2"), settings=settings)
        assert (done.code, done.states) == (EXIT_FAILED, ["failed", "not_run"])
        assert done.remark == "No check of the kind 'test' is configured."


async def test_the_checks_that_fail_are_named(carry_out: Any) -> None:
    checks = ("pytest() { false; }; pytest", "unittest() { false; }; unittest")
    settings = {"checks": checks, "trust": True, "repair_rounds": 0}
    done = await carry_out([], step("1", tool="run.test"), settings=settings)
    names = {each.name for each in done.final.checks}
    assert done.code == EXIT_FAILED and done.remark == f"{', '.join(sorted(names))} failed." and len(names) == 2


async def test_checks_that_still_fail_fail_the_task(carry_out: Any) -> None:
    settings = {"checks": ("pytest() { false; }; pytest",), "trust": True, "repair_rounds": 0}
    done = await carry_out([write("a.py", "x\n"), say("Done.")], step("1"), settings=settings)
    assert (done.code, done.states, done.remark) == (EXIT_FAILED, ["done"], "The checks still fail.")


async def test_a_check_that_a_plan_names_is_repaired_by_the_model(carry_out: Any) -> None:
    settings = {"checks": ("pytest() { grep good a.py; }; pytest",), "trust": True, "repair_rounds": 2}
    done = await carry_out([write("a.py", "good\n"), say("Mended.")], step("1", tool="run.test"), settings=settings)
    assert (done.code, done.states, done.final.verified, done.final.repairs) == (EXIT_OK, ["done"], True, 1)
    assert "(exit code 2)" in done.prompts[0] and "grep" in done.prompts[0]
    assert {each.task_id for each in done.events if each.type == "message"} == {"repair-1"}


async def test_a_repair_that_fails_is_not_gone_on_with(carry_out: Any) -> None:
    settings = {"checks": ("pytest() { date +%N; false; }; pytest",), "trust": True, "repair_rounds": 3}
    done = await carry_out([Turn("", fault=Fault.status_code(400))], step("1", tool="run.test"), settings=settings)
    assert (done.code, done.states, done.final.repairs) == (EXIT_FAILED, ["failed"], 1)


async def test_a_step_runs_the_checks_of_its_kind_alone(carry_out: Any) -> None:
    checks = ("pytest() { true; }; pytest", "ruff() { false; }; ruff")
    done = await carry_out([], step("1", tool="run.test"), settings={"checks": checks, "trust": True})
    assert done.states == ["done"]


@pytest.mark.parametrize(
    ("planned", "at"),
    [
        (step("7", tool="run.test"), "check"),
        (step("7", tool="write_file", parameters={"path": "a.py", "content": "x\n"}), "step"),
    ],
)
async def test_what_goes_wrong_in_a_step_is_an_error_of_that_step(asked: Asked, planned: Any, at: str) -> None:
    hear, failures = asked.hear, [OSError(5, "nobody reads")]

    def fails_once(stamped: Any) -> None:
        if stamped.event.type == at and failures:
            raise failures.pop()
        hear(stamped)

    asked.hear = fails_once  # type: ignore[method-assign]
    settings = {"checks": ("pytest() { true; }; pytest",), "trust": True}
    result = await asked([], plan=read_plan({"tasks": [planned]}), settings=settings)
    assert [(each.task_id, "nobody reads" in str(each.sentence)) for each in asked.of(Error)] == [("7", True)]
    [outcome] = result.final.steps or ()
    assert (result.final.exit_code, outcome.state) == (EXIT_FAILED, "failed") and "nobody reads" in str(outcome.remark)


async def test_what_a_tool_answers_is_why_its_step_failed(carry_out: Any, root: Path) -> None:
    for parameters in ({"path": "a.py", "content": 5}, {"path": "a.py"}):
        done = await carry_out([], step("1", tool="write_file", parameters=parameters))
        assert (done.code, done.states) == (EXIT_FAILED, ["failed"])
        assert done.remark.startswith("write_file answered: ") and "content" in done.remark
    done = await carry_out([], step("1", tool="fly", parameters={"to": "the moon"}))
    assert (done.code, done.states) == (EXIT_FAILED, ["failed"]) and "fly" in done.remark
    assert not (root / "a.py").exists()


async def test_a_planned_call_is_told_as_a_call_of_its_step(carry_out: Any) -> None:
    planned = {"path": "a.py", "content": "x = 1\n"}
    done = await carry_out([], step("7", tool="write_file", parameters=planned))
    calls = [each for each in done.events if each.type in ("step", "diff", "tool_result")]
    assert [(each.type, each.task_id) for each in calls] == [("step", "7"), ("diff", "7"), ("tool_result", "7")]


async def test_a_planned_command_that_is_interrupted_ends_the_task(root: Path, tmp_path: Path) -> None:
    begun = asyncio.Event()
    planned = step("1", tool="runCommand", parameters={"command": "sleep 60"}, on_error="skip"), step("2")
    wanted = TaskRequest("x", plan=read_plan({"tasks": list(planned)}))
    loaded = load_settings(str(root), {"NEBULA_HOME": str(tmp_path / "home")})
    models = TaskModels(*[ChosenModel(ScriptedConnector([]), "m")] * 2)
    hear = lambda stamped: begun.set() if stamped.event.type == "step" else None  # noqa: E731
    task = asyncio.create_task(run_task(loaded, wanted, [hear], models))
    await begun.wait()
    task.cancel()
    result = await task
    assert (result.final.exit_code, states(result)) == (EXIT_INTERRUPTED, [("1", "failed"), ("2", "not_run")])


async def test_a_task_that_is_interrupted_in_a_repair_is_not_gone_on_with(root: Path, tmp_path: Path) -> None:
    checks = {"checks": ("pytest() { date +%N; false; }; pytest",), "trust": True, "repair_rounds": 3}
    with ScriptedModel([Turn("", fault=Fault.stall(0))], **HERMES) as server:
        environ = {"NEBULA_HOME": str(tmp_path / "home"), **server.env("ollama")}
        planned = read_plan({"tasks": [step("1", tool="run.test", on_error="skip"), step("2")]})
        wanted = TaskRequest("x", plan=planned)
        task = asyncio.create_task(run_task(load_settings(str(root), environ, overrides=checks), wanted))
        await asyncio.to_thread(server.wait_until, lambda: len(server.turns) == 1)
        task.cancel()
        result = await task
        assert len(server.turns) == 1
    assert (result.final.exit_code, states(result)) == (EXIT_INTERRUPTED, [("1", "failed"), ("2", "not_run")])


async def test_a_task_that_is_interrupted_ends_its_steps_as_such(asked: Asked, root: Path, tmp_path: Path) -> None:
    with ScriptedModel(
        [plan(step("1", on_error="retry"), step("2")), Turn("", fault=Fault.stall(0))], **HERMES
    ) as server:
        loaded = load_settings(str(root), {"NEBULA_HOME": str(tmp_path / "home"), **server.env("ollama")})
        task = asyncio.create_task(run_task(loaded, TaskRequest("x", replan=True, rollback=True), [asked.hear]))
        await asyncio.to_thread(server.wait_until, lambda: len(server.turns) == 2)
        task.cancel()
        result = await task
        assert len(server.turns) == 2
    assert (result.final.exit_code, result.final.status) == (EXIT_INTERRUPTED, "interrupted")
    assert result.final.rolled_back is True and AGAIN not in asked.notices()


async def test_models_that_are_handed_in_stay_open(root: Path, tmp_path: Path) -> None:
    class Counted(ScriptedConnector):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    models = Counted([plan(step("1")).text, "Done.", plan(step("1")).text, "Done."])
    chosen = TaskModels(ChosenModel(models, "m"), ChosenModel(models, "m"))
    loaded = load_settings(str(root), {"NEBULA_HOME": str(tmp_path / "home")})
    for _ in range(2):
        assert (await run_task(loaded, TaskRequest("x"), (), chosen)).final.exit_code == EXIT_OK
    assert models.closed == 0


async def test_a_command_of_a_task_gets_its_variables(carry_out: Any, root: Path) -> None:
    command = hermes(Turn("I run it.", [Call("run_command", {"command": 'printf %s "$COLOUR" > colour.md'})]))
    done = await carry_out([command, say("Done.")], step("1"), env=(("COLOUR", "blue"),))
    assert (done.code, (root / "colour.md").read_text()) == (EXIT_OK, "blue")
