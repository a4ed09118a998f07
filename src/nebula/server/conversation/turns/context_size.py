"""How much the configured model takes, for those who only want to know that."""

from __future__ import annotations

from nebula.config import Settings
from nebula.llm.catalog import context_length
from nebula.llm.choose import choose_model
from nebula.llm.errors import ModelError


class ContextSize:
    """Asks once: a local model's server is not bothered with every preview."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: tuple[str, int] | None = None

    async def known(self) -> tuple[str, int]:
        """Name and tokens; where no model can be reached, what one of the configured name would take."""
        if self._known is None:
            try:
                chosen = await choose_model(self._settings)
            except ModelError:
                return self._settings.model, self._settings.context_tokens or context_length(self._settings.model)
            await chosen.connector.aclose()
            self._known = chosen.name, chosen.context
        return self._known
