"""Choose the two models of a task, planner and executor; where only one is available, it does both.

The planner is the one named (`--planner`, `planner`, EC_PLANNER), else Gemini where it is set up, else the user's
model. The executor is the one named (`--executor`, `executor`, EC_MODEL_NAME), else what a local Ollama has, else the
user's model.
"""

from __future__ import annotations

import asyncio

from nebula.config import Settings
from nebula.language import Sentence
from nebula.llm.catalog import configured_providers, has_own_address, is_configured
from nebula.llm.choose import ChosenModel, choose_model
from nebula.llm.errors import ModelError
from nebula.llm.gemini_command import GeminiCommand
from nebula.providers import PROVIDERS
from nebula.value import value

GEMINI_COMMAND = "gemini-cli"
"""Names the `gemini` command as the planner, with a model as `gemini-cli/MODEL`."""


@value
class TaskModels:
    planner: ChosenModel
    executor: ChosenModel
    remarks: tuple[Sentence, ...] = ()

    async def close(self) -> None:
        connectors = {id(each.connector): each.connector for each in (self.planner, self.executor)}
        await asyncio.gather(*(connector.aclose() for connector in connectors.values()))


async def choose_models(settings: Settings, *, plans: bool, executes: bool) -> TaskModels:
    """Return the models for a task. A task that needs no plan gets the executor alone, one that only plans the planner
    alone. Raises ModelError where there is none."""
    if not plans:
        return await _choose_executor_alone(settings)
    if not executes:
        return await _choose_planner_alone(settings)
    if settings.planner and settings.executor:
        return TaskModels(await _choose_planner(settings), await choose_model(settings, role="executor"))
    if settings.planner:
        planner = await _choose_planner(settings)
        executor = await _local_executor(settings)
        if executor is not None:
            return TaskModels(planner, executor)
        if planner.provider == GEMINI_COMMAND:  # it can only plan: it cannot be given our tools
            return TaskModels(planner, await choose_model(settings))
        return TaskModels(planner, planner, (_remark_on_stand_in("executor", planner),))
    return await _choose_without_planner(settings)


async def _choose_executor_alone(settings: Settings) -> TaskModels:
    executor = await choose_model(settings, role="executor") if settings.executor else await _local_executor(settings)
    if executor is not None:
        return TaskModels(executor, executor)
    named = settings.planner and settings.planner.partition("/")[0] != GEMINI_COMMAND
    other = await (_choose_planner(settings) if named else _default_planner(settings)) or await choose_model(settings)
    return TaskModels(other, other, (_remark_on_stand_in("executor", other),))


async def _choose_planner_alone(settings: Settings) -> TaskModels:
    planner = await (_choose_planner(settings) if settings.planner else _default_planner(settings))
    return await _choose_without_planner(settings) if planner is None else TaskModels(planner, planner)


async def _choose_without_planner(settings: Settings) -> TaskModels:
    executor = await choose_model(settings, role="executor") if settings.executor else await _local_executor(settings)
    planner = await _default_planner(settings)
    if executor is not None and planner is not None:
        return TaskModels(planner, executor)
    if executor is not None:
        return TaskModels(executor, executor, (_remark_on_stand_in("planner", executor),))
    planner = planner or await choose_model(settings)
    return TaskModels(planner, planner, (_remark_on_stand_in("executor", planner),))


async def _choose_planner(settings: Settings) -> ChosenModel:
    command, _, model = settings.planner.partition("/")
    if command == GEMINI_COMMAND and not settings.is_from_project("planner"):
        return ChosenModel(GeminiCommand(), model or GEMINI_COMMAND)
    return await choose_model(settings, role="planner")


async def _default_planner(settings: Settings) -> ChosenModel | None:
    """Return Gemini, else the model that the user named or has a key for; None where there is only a local one."""
    gemini = PROVIDERS["gemini"]
    said = [name for name in ("model", "provider") if name in settings.origins and not settings.is_from_project(name)]
    if not said and is_configured(gemini, settings):
        return await choose_model(settings, provider=gemini.name, own_model_first=False)
    if said or any(row.key for row in configured_providers(settings)):
        return await choose_model(settings)
    return None


async def _local_executor(settings: Settings) -> ChosenModel | None:
    """Return the first model of a local Ollama. One that the user set up must answer; else it is only looked for."""
    row = next(row for row in PROVIDERS.values() if not row.key)
    if settings.provider and settings.provider != row.name:
        return None
    try:
        return await choose_model(settings, provider=row.name, own_model_first=False)
    except ModelError:
        if has_own_address(row, settings):
            raise
        return None


def _remark_on_stand_in(role: str, chosen: ChosenModel) -> Sentence:
    if role == "planner":
        return Sentence("No planner is set up: {model} plans as well (--planner chooses another).", model=chosen.name)
    return Sentence("No executor is set up: {model} executes as well (--executor chooses another).", model=chosen.name)
