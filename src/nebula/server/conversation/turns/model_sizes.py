"""How much a model takes and costs, for those who only want to know that."""

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
    """What it takes."""


@value
class TurnPreview:
    """What a turn would send, and to whom."""

    context: ContextPreview
    model: SizedModel

    def to_json(self) -> dict[str, Any]:
        """`cost` is what the tokens that go in cost, in US dollars; null where the price is not known."""
        sent = Usage(self.context.total_tokens + self.context.frame_tokens, 0)
        price = cost(self.model.provider, self.model.name, sent)
        return self.context.to_json() | {"model": self.model.name, "cost": price, "room": self.model.tokens}


class ModelSizes:
    """Asks once for each model: a local model's server is not bothered with every preview."""

    def __init__(self, settings: Settings, choose_model: Callable[[str], Awaitable[ChosenModel]]) -> None:
        self._settings = settings
        self._choose_model = choose_model
        self._known: dict[str, SizedModel] = {}

    async def of(self, wanted: str = "") -> SizedModel:
        """Return the model of this name, else the configured one; where it cannot be reached, with what a model of that
        name usually takes."""
        if wanted not in self._known:
            try:
                chosen = await self._choose_model(wanted)
            except ModelError:
                name = wanted or self._settings.model
                return SizedModel(name, known_provider(name), self._settings.context_tokens or context_length(name))
            await chosen.connector.aclose()
            self._known[wanted] = SizedModel(chosen.name, chosen.provider, chosen.context)
        return self._known[wanted]
