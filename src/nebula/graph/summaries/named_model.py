"""A model and the name to ask it by, from what the caller says, the environment and the graph's `config.yaml`.

Said outright comes first, then the environment and the user's own settings, then what `config.yaml` asks for once
somebody has changed it. Addresses and keys come from the environment and the user's settings alone: a data folder
travels with a project, and must not decide where prompts go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.config import DEFAULT_MODEL, load_settings
from nebula.llm.catalog import connect, known_provider, resolve_model, split_name
from nebula.llm.choose import ChosenModel
from nebula.llm.contract import Model
from nebula.llm.errors import AuthError, ModelError, NotFoundError

if TYPE_CHECKING:
    from nebula.config import Settings as UserSettings
    from nebula.graph.disk.settings import Settings as GraphSettings

DEFAULT_MODELS = {"openai": DEFAULT_MODEL, "gemini": "gemini-2.5-flash"}
NOTHING_CONFIGURED = "No model can be reached. Set OPENAI_API_KEY or GEMINI_API_KEY, or start Ollama (see OLLAMA_HOST)."


async def open_model(
    provider: str = "",
    model: str = "",
    *,
    of_graph: GraphSettings | None = None,
    user: UserSettings | None = None,
) -> ChosenModel:
    """Raises ModelError with a sentence for a person. Asks a server only where the name leaves a doubt."""
    settings = user or load_settings()
    outright, model = split_name(model)
    provider = provider or outright or ""
    if not model and not provider:
        provider, model = _wished(settings, of_graph)
    provider = provider or known_provider(model) or ""
    if not provider and model:
        provider, model = await _listed(settings, model)
    provider = provider or _configured(settings)[0]
    _require_key(settings, provider)
    model = model or DEFAULT_MODELS.get(provider, "") or await _first_of_ollama(settings)
    return ChosenModel(_connector(settings, provider), model)


def _wished(settings: UserSettings, of_graph: GraphSettings | None) -> tuple[str, str]:
    if "model" in settings.origins or "provider" in settings.origins:
        outright, model = split_name(settings.model if "model" in settings.origins else "")
        return settings.provider or outright or "", model
    if of_graph is not None and not of_graph.is_default:
        provider, model = of_graph.default_llm_provider, of_graph.default_model
        # A wish that cannot be granted here is not a mistake: the folder may come from another machine.
        if provider in _configured(settings) and provider != "ollama":
            return provider, model
        if provider == "ollama" and _configured(settings) == ["ollama"]:
            return provider, model
    return "", ""


def _configured(settings: UserSettings) -> list[str]:
    """Those that somebody set up. Ollama needs no key, so it may always be there."""
    names = ["openai"] if settings.openai_api_key or "openai_base_url" in settings.origins else []
    names += ["gemini"] if settings.gemini_api_key else []
    return [*names, "ollama"]


def _require_key(settings: UserSettings, provider: str) -> None:
    if provider not in _configured(settings):
        raise AuthError(f"{provider.upper()}_API_KEY is not set.")


def _connector(settings: UserSettings, provider: str) -> Model:
    places = {
        "openai": (settings.openai_base_url, settings.openai_api_key),
        "gemini": (settings.gemini_base_url, settings.gemini_api_key),
        "ollama": (settings.ollama_host, ""),
    }
    base_url, key = places[provider]
    return connect(provider, base_url=base_url, api_key=key)


async def _listed(settings: UserSettings, model: str) -> tuple[str, str]:
    connectors = {provider: _connector(settings, provider) for provider in _configured(settings)}
    try:
        return await resolve_model(model, connectors)
    finally:
        for each in connectors.values():
            await each.aclose()


async def _first_of_ollama(settings: UserSettings) -> str:
    ollama = _connector(settings, "ollama")
    try:
        listed = await ollama.list_models()
    except ModelError as error:
        raise type(error)(f"{NOTHING_CONFIGURED} ({error.message})") from None
    finally:
        await ollama.aclose()
    if not listed:
        raise NotFoundError("Ollama is running but has no model yet. Get one with `ollama pull NAME`.")
    return listed[0].name
