"""Which model answers: from the settings to a connector and a name, with as few questions as can be.

A well-known name, `provider/model` or `--provider` needs no question at all. With no key set a reachable Ollama is
used; with neither, one sentence says what to set.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from nebula.config import DEFAULT_MODEL, Settings
from nebula.events import Usage
from nebula.llm.catalog import connect, context_length, cost, known_provider, resolve_model, split_name
from nebula.llm.contract import DescribingModel, Model, ModelInfo
from nebula.llm.errors import AuthError, ModelError, NotFoundError

DEFAULT_GEMINI_MODEL = "gemini-2.5-flash"
NOTHING_CONFIGURED = (
    "No model can be reached. Set OPENAI_API_KEY or GEMINI_API_KEY, or start Ollama (OLLAMA_HOST says where); "
    "`nebula demo` works without any of them."
)


@dataclass(slots=True)
class ChosenModel:
    """The model that answers: a connector, and the name to ask it by."""

    connector: Model
    name: str
    context_tokens: int = 0

    @property
    def provider(self) -> str:
        return self.connector.provider

    @property
    def context(self) -> int:
        return self.context_tokens or context_length(self.name)

    def cost(self, usage: Usage) -> float | None:
        """In US dollars; None where the price is not known."""
        return cost(self.provider, self.name, usage)


def configured_providers(settings: Settings) -> list[str]:
    """Those that somebody set up. Ollama needs no key, so it always may be there."""
    has_own_server = "openai_base_url" in settings.origins
    names = ["openai"] if settings.openai_api_key or has_own_server else []
    names += ["gemini"] if settings.gemini_api_key else []
    return [*names, "ollama"]


def connector(settings: Settings, provider: str) -> Model:
    urls = {
        "openai": (settings.openai_base_url, settings.openai_api_key),
        "gemini": (settings.gemini_base_url, settings.gemini_api_key),
        "ollama": (settings.ollama_host, ""),
    }
    base_url, key = urls[provider]
    return connect(provider, base_url=base_url, api_key=key)


async def choose_model(settings: Settings, name: str | None = None) -> ChosenModel:
    """The model by this name, or the one the settings choose."""
    if name is None and "model" not in settings.origins:
        return await _default_model(settings)
    wanted = name or settings.model
    outright, model = split_name(wanted)
    provider = outright or settings.provider or known_provider(model)
    configured = configured_providers(settings)
    if provider is None or provider not in configured:
        try:
            provider, model = await _ask_around(wanted, settings, configured, provider)
        except NotFoundError:
            own = _own_servers(settings)
            if name is not None or provider is not None or len(own) != 1:
                raise
            provider = own[0]  # a server of one's own need not list all it can
    return await _informed(_chosen(settings, provider, model))


async def _informed(chosen: ChosenModel) -> ChosenModel:
    """A local model takes as much as its server says; the connector asks that only once, and would ask it anyway."""
    if chosen.provider == "ollama" and not chosen.context_tokens:
        with suppress(ModelError):  # the turn meets the same problem, and tells it
            about = await cast("DescribingModel", chosen.connector).describe(chosen.name)
            chosen.context_tokens = about.context_length or 0
    return chosen


def _own_servers(settings: Settings) -> list[str]:
    """The providers whose address somebody set."""
    addresses = {"openai": "openai_base_url", "gemini": "gemini_base_url", "ollama": "ollama_host"}
    return [each for each in configured_providers(settings) if addresses[each] in settings.origins]


async def _default_model(settings: Settings) -> ChosenModel:
    configured = configured_providers(settings)
    provider = settings.provider or configured[0]
    if provider == "openai":
        return _chosen(settings, provider, DEFAULT_MODEL)
    if provider == "gemini":
        return _chosen(settings, provider, DEFAULT_GEMINI_MODEL)
    model = connector(settings, "ollama")
    try:
        listed = await model.list_models()
    except ModelError:
        await model.aclose()
        raise AuthError(NOTHING_CONFIGURED) from None
    if not listed:
        await model.aclose()
        raise NotFoundError("Ollama is running but has no model yet. Get one with `ollama pull NAME`.")
    return await _informed(ChosenModel(model, listed[0].name, settings.context_tokens))


async def _ask_around(
    wanted: str, settings: Settings, configured: Sequence[str], provider: str | None
) -> tuple[str, str]:
    if provider is not None and provider != "ollama" and configured == ["ollama"]:
        raise AuthError(f"The model '{wanted}' needs {provider.upper()}_API_KEY to be set. {NOTHING_CONFIGURED}")
    models = {each: connector(settings, each) for each in configured}
    try:
        return await resolve_model(wanted, models)
    finally:
        for model in models.values():
            await model.aclose()


def _chosen(settings: Settings, provider: str, model: str) -> ChosenModel:
    return ChosenModel(connector(settings, provider), model, settings.context_tokens)


async def list_models(settings: Settings) -> list[tuple[str, list[ModelInfo] | ModelError]]:
    """What each configured provider lists, or why it does not."""
    found: list[tuple[str, list[ModelInfo] | ModelError]] = []
    for provider in configured_providers(settings):
        model = connector(settings, provider)
        try:
            found.append((provider, await model.list_models()))
        except ModelError as error:
            found.append((provider, error))
        finally:
            await model.aclose()
    return found
