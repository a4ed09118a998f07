"""The context size and the price of a model, for a preview that sends nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nebula.config import Settings
from nebula.graph.context.preview import ContextPreview
from nebula.llm.catalog import context_length, cost, known_provider
from nebula.llm.choose import ChosenModel
from nebula.llm.contract import Usage
from nebula.llm.errors import ModelError
from nebula.value import value


@value
class SizedModel:
    name: str
    provider: str
    tokens: int
    """Its context, in tokens."""


@value
class TurnPreview:
    """What a turn would send, and to which model."""

    context: ContextPreview
    model: SizedModel

    def to_json(self) -> dict[str, Any]:
        """Return the preview as JSON. `cost` is the price of the input tokens in US dollars; null if it is not
        known."""
        sent = Usage(self.context.total_tokens + self.context.frame_tokens, 0)
        price = cost(self.model.provider, self.model.name, sent)
        return self.context.to_json() | {"model": self.model.name, "cost": price, "room": self.model.tokens}


class ModelSizes:
    """Asks once for each model, so that previews do not bother a local model's server."""

    def __init__(self, settings: Settings, choose_model: Callable[[str], Awaitable[ChosenModel]]) -> None:
        self._settings = settings
        self._choose_model = choose_model
        self._known: dict[str, SizedModel] = {}

    async def of(self, wanted: str = "") -> SizedModel:
        """Return the model of this name, else the configured one; if it cannot be reached, with the usual context of a
        model of that name."""
        if wanted not in self._known:
            try:
                chosen = await self._choose_model(wanted)
            except ModelError:
                name = wanted or self._settings.model
                return SizedModel(name, known_provider(name), self._settings.context_tokens or context_length(name))
            await chosen.connector.aclose()
            self._known[wanted] = SizedModel(chosen.name, chosen.provider, chosen.context)
        return self._known[wanted]
