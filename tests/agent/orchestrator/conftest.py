"""A task carried out in this process: a plan that is given, and what the executor says in the JSON dialect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.orchestrator.asked_task import Asked
from known_machine import know_the_machine
from nebula.agent.orchestrator.run import run_task
from nebula.agent.orchestrator.task import TaskRequest
from nebula.agent.plan.plan import read_plan
from nebula.config import load_settings
from nebula.events import Event, Final
from scripted_model import ScriptedModel
from scripted_model.planned import HERMES


@dataclass(frozen=True)
class Done:
    final: Final
    events: list[Event]
    prompts: list[str]
    """What the model was asked last in each request."""

    @property
    def code(self) -> int:
        return self.final.exit_code

    @property
    def states(self) -> list[str]:
        return [each.state for each in self.final.steps or ()]

    @property
    def remark(self) -> str:
        return str(self.final.remark or "")


Carry = Callable[..., Awaitable[Done]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    know_the_machine(tmp_path / "home")
    return folder


@pytest.fixture
def carry_out(root: Path, tmp_path: Path) -> Carry:
    async def run(turns: Any, *steps: dict[str, Any], settings: dict[str, Any] = {}, **request: Any) -> Done:  # noqa: B006
        events: list[Event] = []
        with ScriptedModel(list(turns) if isinstance(turns, list | tuple) else turns, **HERMES) as server:
            environ = {"NEBULA_HOME": str(tmp_path / "home"), **server.env("ollama")}
            loaded = load_settings(str(root), environ, overrides=settings)
            asked = TaskRequest("the task", plan=read_plan({"tasks": list(steps)}), **request)
            result = await run_task(loaded, asked, [lambda stamped: events.append(stamped.event)])
            prompts = [str(each.json["messages"][-1]["content"]) for each in server.turns]
        return Done(result.final, events, prompts)

    return run


@pytest.fixture
def asked(root: Path, tmp_path: Path) -> Asked:
    return Asked(root, tmp_path / "home")
