"""What a user of an editor may set for a session: the mode, the model, and how much the model thinks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nebula.agent.session import MODES, Session
from nebula.events import Final
from nebula.language import Sentence, explain, translate
from nebula.llm.catalog import configured_providers, short_name
from nebula.llm.choose import choose_model, list_models, offered_models
from nebula.llm.contract import Model, ModelInfo
from nebula.server.acp.peer import RpcError
from nebula.stage import one_line
from nebula.value import replace

MODE_NAMES = {"agent": Sentence("Agent"), "plan": Sentence("Plan")}
EFFORTS = {
    "": Sentence("as the model comes"),
    "low": Sentence("low"),
    "medium": Sentence("medium"),
    "high": Sentence("high"),
}
DEFAULT_EFFORT = "default"
"""The editor's name for an empty effort."""


class SessionOptions:
    def __init__(self, session: Session, update: Callable[[Mapping[str, Any]], None]) -> None:
        self._session = session
        self._update = update
        unasked = [(row.name, list["ModelInfo"]()) for row in configured_providers(session.settings)]
        self._models = _names(offered_models(unasked))
        self._retired: list[Model] = []
        """Connectors of models that were replaced while a turn was using them."""
        self._looking: asyncio.Task[None] | None = None
        self._cost: float | None = 0.0
        self._told = self._current()

    def state(self) -> dict[str, Any]:
        """Return the options of a session when it is opened; `models` is for editors from before there were options."""
        model = self._model()
        models = [{"modelId": each, "name": _label(each)} for each in self._listed()]
        return {
            "modes": {"currentModeId": self._session.mode, "availableModes": _modes()},
            "configOptions": self._options(),
            "models": {"currentModelId": model, "availableModels": models},
        }

    async def set(self, option: str, chosen: str) -> dict[str, Any]:
        """Set an option by its id and return all of them. Raises RpcError, ModelError."""
        if option == "mode":
            self.set_mode(chosen)
        elif option == "model":
            await self.set_model(chosen)
        elif option == "effort":
            await self._set_effort(chosen)
        else:
            raise RpcError("'configId' must be one of {options}", options="mode, model, effort")
        self.tell_changes()
        return {"configOptions": self._options()}

    def set_mode(self, mode: str) -> None:
        if mode not in MODES:
            raise RpcError("'modeId' must be one of {modes}", modes=", ".join(MODES))
        self._session.switch_mode(mode)

    def recall_mode(self) -> None:
        """Restore the mode of the session's last run."""
        kept = self._session.kept.read().mode if self._session.kept is not None else ""
        if kept in MODES:
            self._session.mode = kept
        self._told = self._current()

    async def set_model(self, name: str) -> None:
        session = self._session
        if session.redactor.text(name) != name or not name.isprintable():
            raise RpcError("That is not the name of a model; nothing was changed.")
        self._switch_to(await choose_model(session.settings, name))

    async def _set_effort(self, chosen: str) -> None:
        effort = "" if chosen == DEFAULT_EFFORT else chosen
        if effort not in EFFORTS:
            raise RpcError(
                "'value' must be one of {efforts}", efforts=", ".join(each or DEFAULT_EFFORT for each in EFFORTS)
            )
        settings = replace(self._session.settings, effort=effort)
        self._switch_to(await choose_model(settings, self._model()))
        self._session.settings = replace(self._session.settings, effort=effort)

    def _switch_to(self, chosen: Any) -> None:
        self._retired.append(self._session.chosen.connector)
        self._session.use_model(chosen)

    async def turn_over(self) -> None:
        """Close what no turn uses any more, and send the editor what the turn changed."""
        self.tell_changes()
        while self._retired:
            await self._retired.pop().aclose()

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        while self._retired:
            await self._retired.pop().aclose()

    def tell_changes(self) -> None:
        """Send the editor the present options, after a command or another request changed one."""
        now, before = self._current(), self._told
        self._told = now
        if now == before:
            return
        if now[0] != before[0]:
            self._update({"sessionUpdate": "current_mode_update", "currentModeId": now[0]})
        self._update({"sessionUpdate": "config_option_update", "configOptions": self._options()})

    def tell_usage(self, final: Final) -> None:
        """Send the editor how much of the context is used and what the session has cost."""
        self._cost = None if self._cost is None or final.cost is None else self._cost + final.cost
        session = self._session
        used = {"used": session.budget.estimate_next(session.conversation), "size": session.chosen.context}
        cost = {} if self._cost is None else {"cost": {"amount": self._cost, "currency": "USD"}}
        self._update({"sessionUpdate": "usage_update", **used, **cost})

    def look_for_models(self) -> None:
        """Ask the providers for their models in the background: some answer late or never."""
        self._looking = asyncio.get_running_loop().create_task(self._look_for_models())

    async def _look_for_models(self) -> None:
        found = _names(offered_models(await list_models(self._session.settings)))
        if found != self._models:
            self._models = found
            self._update({"sessionUpdate": "config_option_update", "configOptions": self._options()})

    def _current(self) -> tuple[str, str, str]:
        return self._session.mode, self._model(), self._session.settings.effort

    def _model(self) -> str:
        return f"{self._session.chosen.provider}/{self._session.chosen.name}"

    def _listed(self) -> list[str]:
        return list(dict.fromkeys([self._model(), *self._models]))

    def _options(self) -> list[dict[str, Any]]:
        modes = [{"value": each["id"], "name": each["name"]} for each in _modes()]
        models = [{"value": each, "name": _label(each)} for each in self._listed()]
        efforts = [{"value": each or DEFAULT_EFFORT, "name": explain(name)} for each, name in EFFORTS.items()]
        mode, model, effort = self._current()
        return [
            _select("mode", "mode", translate("Mode"), mode, modes),
            _select("model", "model", translate("Model"), model, models),
            _select("effort", "thought_level", translate("Thinking"), effort or DEFAULT_EFFORT, efforts),
        ]


def _select(
    option: str, category: str, name: str, current: str, choices: Sequence[Mapping[str, str]]
) -> dict[str, Any]:
    body = {"id": option, "name": name, "category": category, "type": "select"}
    return body | {"currentValue": current, "options": list(choices)}


def _modes() -> list[dict[str, str]]:
    return [{"id": mode, "name": explain(MODE_NAMES[mode])} for mode in MODES]


def _names(models: Sequence[ModelInfo]) -> list[str]:
    return [f"{each.provider}/{each.name}" for each in models if each.name.isprintable()]


def _label(model: str) -> str:
    provider, _, name = model.partition("/")
    return one_line(f"{short_name(name)} ({provider})")
