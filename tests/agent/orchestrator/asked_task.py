"""A task that is asked of `run_task` with a planner, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nebula.agent.orchestrator.run import run_task
from nebula.agent.orchestrator.task import TaskRequest, TaskResult
from nebula.agent.plan.kept_plans import NoSuchPlan, find_plan
from nebula.config import load_settings
from nebula.events import Event, Notice
from nebula.files.home import derived_folder
from scripted_model import ScriptedModel
from scripted_model.planned import HERMES


class Asked:
    """Its events, and all that its model was asked."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home = root, home
        self.events: list[Event] = []
        self.requests: list[Any] = []

    async def __call__(self, turns: Any, *, settings: dict[str, Any] = {}, **request: Any) -> TaskResult:  # noqa: B006
        with ScriptedModel(list(turns), **HERMES) as server:
            environ = {"NEBULA_HOME": str(self.home), **server.env("ollama")}
            loaded = load_settings(str(self.root), environ, overrides=settings)
            result = await run_task(loaded, TaskRequest("the task", **request), [self.hear])
            self.requests = [each.json for each in server.turns]
        return result

    def hear(self, stamped: Any) -> None:
        self.events.append(stamped.event)

    @property
    def derived(self) -> str:
        return derived_folder(str(self.root), str(self.home))

    def can_resume(self, result: TaskResult) -> bool:
        try:
            return find_plan(self.derived, result.trace_id) is not None
        except NoSuchPlan:
            return False

    def of(self, kind: type[Event]) -> list[Any]:
        return [each for each in self.events if isinstance(each, kind)]

    def notices(self) -> list[str]:
        return [str(each.sentence) for each in self.of(Notice)]


def states(result: TaskResult) -> list[tuple[str, str]]:
    return [(each.id, each.state) for each in result.final.steps or ()]
