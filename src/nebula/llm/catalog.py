"""From plain values to a connector, and from a model's name to the provider it belongs to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nebula.llm.contract import Model, ModelInfo, Usage
from nebula.llm.errors import ModelError, NotFoundError, UnavailableError
from nebula.llm.http.retry import DEFAULT_RETRY, RetryPolicy

if TYPE_CHECKING:
    from nebula.llm.http.client import Timeouts

PROVIDERS = ("openai", "gemini", "ollama")
OFFERED_MODELS = ("gpt-4.1-nano", "gpt-4.1-mini")
DEFAULT_CONTEXT = 128_000
_KNOWN_CONTEXT = {"gpt-4.1": 1_047_576, "gpt-5": 400_000, "gpt-4o": 128_000, "gemini": 1_048_576, "o3": 200_000}
_DOLLARS_PER_MILLION = {
    "gpt-4.1-nano": (0.10, 0.40),
    "gpt-4.1-mini": (0.40, 1.60),
    "gpt-4.1": (2.00, 8.00),
    "gpt-4o-mini": (0.15, 0.60),
    "gpt-4o": (2.50, 10.00),
    "gemini-2.5-flash-lite": (0.10, 0.40),
    "gemini-2.5-flash": (0.30, 2.50),
    "gemini-2.5-pro": (1.25, 10.00),
    "gemini-2.0-flash": (0.10, 0.40),
}


def connect(
    provider: str,
    *,
    base_url: str = "",
    api_key: str = "",
    retry: RetryPolicy = DEFAULT_RETRY,
    timeouts: Timeouts | None = None,
    environ: Mapping[str, str] | None = None,
) -> Model:
    """A connector. Nothing is contacted yet.

    `environ` is where proxies and certificates are looked up (default: the process's environment). An Ollama comes
    with the JSON dialect for those of its models that have no tool calls of their own.
    """
    if provider == "openai":
        from nebula.llm.http.client import DEFAULT_TIMEOUTS
        from nebula.llm.openai import OpenAIModel

        return OpenAIModel(api_key, base_url, retry=retry, timeouts=timeouts or DEFAULT_TIMEOUTS, environ=environ)
    if provider == "gemini":
        from nebula.llm.gemini import GeminiModel
        from nebula.llm.http.client import DEFAULT_TIMEOUTS

        return GeminiModel(api_key, base_url, retry=retry, timeouts=timeouts or DEFAULT_TIMEOUTS, environ=environ)
    if provider == "ollama":
        from nebula.llm.dialect.json_dialect import DialectWhereNeeded
        from nebula.llm.ollama import PATIENT, OllamaModel

        return DialectWhereNeeded(
            OllamaModel(base_url, api_key=api_key, retry=retry, timeouts=timeouts or PATIENT, environ=environ)
        )
    raise NotFoundError(f"{provider!r} is no provider; choose one of {', '.join(PROVIDERS)}.")


def split_name(name: str) -> tuple[str | None, str]:
    """`provider/model` said outright; other slashes belong to the model's name."""
    first, slash, rest = name.partition("/")
    return (first, rest) if slash and first in PROVIDERS and rest else (None, name)


def known_provider(name: str) -> str | None:
    """The provider whose models have names like this one."""
    if ":" in name or "/" in name or name.startswith("gpt-oss"):  # a tag, an owner, OpenAI's model for other servers
        return None
    if name.startswith(("gpt-", "chatgpt-")) or (name[:1] == "o" and name[1:2].isdigit()):
        return "openai"
    return "gemini" if name.startswith("gemini-") else None


async def resolve_model(name: str, configured: Mapping[str, Model]) -> tuple[str, str]:
    """Provider and model that `name` means, among the configured providers (in their order).

    `provider/model` and well-known names need no question; else the provider that lists the model has it. Where
    there is only one provider, it has it: a server of one's own need not list all it can.
    """
    outright, model = split_name(name)
    if outright is not None:
        if outright not in configured:
            raise NotFoundError(f"{name!r} asks for {outright}, which is not configured. {_how_to_configure(outright)}")
        return outright, model
    known = known_provider(model)
    if known is not None and known in configured:
        return known, model
    if len(configured) == 1:
        return next(iter(configured)), model
    if not configured:
        raise NotFoundError(f"No provider is configured for the model {name!r}. {_how_to_configure(None)}")
    return await _listing_provider(model, configured), model


async def _listing_provider(model: str, configured: Mapping[str, Model]) -> str:
    answers = await asyncio.gather(*(_listed(each) for each in configured.values()))
    names: list[str] = []
    silent: list[str] = []
    unlisting: list[str] = []
    for provider, answer in zip(configured, answers, strict=True):
        if isinstance(answer, UnavailableError):
            silent.append(f"{provider} did not answer: {answer.message}")
            continue
        if isinstance(answer, ModelError):
            unlisting.append(provider)
            silent.append(f"{provider} lists no models: {answer.message}")
            continue
        listed = {info.name for info in answer}
        if model in listed or f"{model}:latest" in listed:
            return provider
        names += [f"{provider}/{info.name}" for info in answer]
    if len(unlisting) == 1 and not names:
        return unlisting[0]  # it is there, cannot say what it has, and nobody else has anything
    near = _nearest(model, names)
    hint = f" Near it: {', '.join(near)}." if near else ""
    raise NotFoundError(f"No configured provider lists the model {model!r}.{hint} {' '.join(silent)}".strip())


async def _listed(model: Model) -> list[ModelInfo] | ModelError:
    try:
        return await model.list_models()
    except ModelError as error:
        return error


def _nearest(model: str, names: list[str]) -> list[str]:
    from difflib import get_close_matches

    short = {name.partition("/")[2]: name for name in names}
    return [short[each] for each in get_close_matches(model, short, n=3, cutoff=0.5)]


def _how_to_configure(provider: str | None) -> str:
    ways = {
        "openai": "set OPENAI_API_KEY",
        "gemini": "set GEMINI_API_KEY",
        "ollama": "start Ollama (or set OLLAMA_HOST)",
    }
    chosen = [ways[provider]] if provider else list(ways.values())
    sentence = ", or ".join(chosen)
    return sentence[0].upper() + sentence[1:] + "."


def context_length(model: str) -> int:
    """What a model is known to take, where nobody asked its server."""
    name = model.rsplit("/", 1)[-1]
    known = max((known for known in _KNOWN_CONTEXT if name.startswith(known)), key=len, default=None)
    return _KNOWN_CONTEXT[known] if known else DEFAULT_CONTEXT


def cost(provider: str, model: str, usage: Usage) -> float | None:
    """In US dollars at the providers' list prices. A local model costs nothing."""
    if provider in ("ollama", "replay"):
        return 0.0
    name = model.rsplit("/", 1)[-1]
    # The longest known name that the model's name begins with, so that dated versions are found.
    known = max((known for known in _DOLLARS_PER_MILLION if name.startswith(known)), key=len, default=None)
    if known is None:
        return None
    price_in, price_out = _DOLLARS_PER_MILLION[known]
    return (usage.input_tokens * price_in + usage.output_tokens * price_out) / 1_000_000
