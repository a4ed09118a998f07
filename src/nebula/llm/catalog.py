"""The providers of models: one row says all that the rest of the program knows about each.

A new provider is a connector in a file of its own and a row here, which names the settings (`nebula.config.settings`)
that hold its address and key. Nothing here imports a connector: a start pays only for the one it uses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nebula.config.settings import DEFAULT_MODEL, TABLE, variable_of
from nebula.llm.contract import Model, Usage
from nebula.llm.errors import NotFoundError
from nebula.value import value

if TYPE_CHECKING:
    from nebula.config import Settings
    from nebula.language import Sentence
    from nebula.llm.http.retry import RetryPolicy

DEFAULT_CONTEXT = 128_000
"""Tokens that a model is taken to have room for where nobody knows better."""


@value
class KnownModel:
    """What is known of the models whose names begin so. Prices are the list's, in US dollars a million tokens."""

    name: str
    context: int = DEFAULT_CONTEXT
    price_in: float | None = None
    price_out: float = 0.0


@value
class Provider:
    name: str
    label: str
    """What people call it."""
    connector: str
    """`module:Class`, loaded on first use."""
    address: str = ""
    """The setting that says where it is."""
    key: str = ""
    """The setting that holds its key; empty where none is needed."""
    default_model: str = ""
    """Empty: the first that it lists."""
    offered: tuple[str, ...] = ()
    """Offered first where models are listed."""
    own_names: str = ""
    """A pattern of model names that are this provider's wherever they are said."""
    models: tuple[KnownModel, ...] = ()
    is_free: bool = False
    in_home: str = ""
    """A folder in nebula's home whose files are its models: it is set up where there is one."""

    @property
    def key_variable(self) -> str:
        return variable_of(self.key) if self.key else ""

    @property
    def address_variable(self) -> str:
        return variable_of(self.address) if self.address else ""

    @property
    def default_address(self) -> str:
        return str(TABLE[self.address].default) if self.address else ""

    def is_configured(self, settings: Settings) -> bool:
        """Whether somebody set it up. One that needs no key may always be there."""
        if self.in_home:
            return os.path.isdir(self._folder(settings))
        return not self.key or bool(getattr(settings, self.key)) or self.has_own_address(settings)

    def has_own_address(self, settings: Settings) -> bool:
        return self.address in settings.origins

    def _folder(self, settings: Settings) -> str:
        return os.path.join(settings.home, self.in_home) if self.in_home else ""

    def connect(self, settings: Settings, remark: Sentence | None = None) -> Model:
        """A connector to it; `remark` is said before its first reply."""
        address = getattr(settings, self.address) if self.address else self._folder(settings)
        key = getattr(settings, self.key) if self.key else ""
        return connect(self.name, base_url=address, api_key=key, remark=remark, home=settings.home)


PROVIDERS = {
    row.name: row
    for row in (
        Provider(
            "openai",
            "OpenAI",
            "nebula.llm.openai:OpenAIModel",
            address="openai_base_url",
            key="openai_api_key",
            default_model=DEFAULT_MODEL,
            offered=("gpt-4.1-nano", "gpt-4.1-mini"),
            own_names=r"gpt-(?!oss)|chatgpt-|o\d",
            models=(
                KnownModel("gpt-4.1", 1_047_576, 2.00, 8.00),
                KnownModel("gpt-4.1-mini", 1_047_576, 0.40, 1.60),
                KnownModel("gpt-4.1-nano", 1_047_576, 0.10, 0.40),
                KnownModel("gpt-4o", 128_000, 2.50, 10.00),
                KnownModel("gpt-4o-mini", 128_000, 0.15, 0.60),
                KnownModel("gpt-5", 400_000),
                KnownModel("o3", 200_000),
            ),
        ),
        Provider(
            "gemini",
            "Gemini",
            "nebula.llm.gemini:GeminiModel",
            address="gemini_base_url",
            key="gemini_api_key",
            default_model="gemini-2.5-flash",
            own_names=r"gemini-",
            models=(
                KnownModel("gemini-2.5-flash", 1_048_576, 0.30, 2.50),
                KnownModel("gemini-2.5-flash-lite", 1_048_576, 0.10, 0.40),
                KnownModel("gemini-2.5-pro", 1_048_576, 1.25, 10.00),
                KnownModel("gemini-2.0-flash", 1_048_576, 0.10, 0.40),
                KnownModel("gemini", 1_048_576),
            ),
        ),
        Provider("ollama", "Ollama", "nebula.llm.ollama:OllamaModel", address="ollama_host", is_free=True),
        Provider("local", "llama.cpp", "nebula.llm.local.connector:LocalModel", is_free=True, in_home="models"),
    )
}


def connect(
    provider: str,
    *,
    base_url: str = "",
    api_key: str = "",
    retry: RetryPolicy | None = None,
    environ: Mapping[str, str] | None = None,
    remark: Sentence | None = None,
    home: str = "",
) -> Model:
    """A connector. Nothing is contacted yet.

    `environ` is where proxies and certificates are looked up (default: the process's environment). The JSON dialect
    stands by for models that have no tool calls of their own; `home` is where those are remembered that said they had.
    """
    row = PROVIDERS.get(provider)
    if row is None:
        raise NotFoundError(
            "'{name}' is no provider; choose one of {known}.", name=provider, known=", ".join(PROVIDERS)
        )
    from importlib import import_module

    from nebula.llm.dialect.printing_models import PrintingModels
    from nebula.llm.dialect.where_needed import DialectWhereNeeded

    module, _, name = row.connector.partition(":")
    given = {"retry": retry} if retry is not None else {}
    model: Model = getattr(import_module(module), name)(base_url=base_url, api_key=api_key, environ=environ, **given)
    return DialectWhereNeeded(model, remark, PrintingModels(home, base_url or provider))


def short_name(model: str) -> str:
    """As people are shown it: a model in a file, wherever it lies, goes by the file's own name."""
    return os.path.basename(model).removesuffix(".gguf") if os.path.isabs(model) else model


def split_name(name: str) -> tuple[str, str]:
    """`provider/model` said outright; other slashes belong to the model's name, and the provider is empty."""
    first, slash, rest = name.partition("/")
    return (first, rest) if slash and first in PROVIDERS and rest else ("", name)


def known_provider(model: str) -> str:
    """The provider whose models have names like this one; empty where any may have it."""
    if ":" in model or "/" in model:  # a tag, an owner
        return ""
    return next((row.name for row in PROVIDERS.values() if row.own_names and re.match(row.own_names, model)), "")


def known_model(model: str) -> KnownModel | None:
    """What is known of a model: the longest known name that its own begins with."""
    name = model.rsplit("/", 1)[-1]
    known = (each for row in PROVIDERS.values() for each in row.models if name.startswith(each.name))
    return max(known, key=lambda each: len(each.name), default=None)


def context_length(model: str) -> int:
    """What a model is known to take, where nobody asked its server."""
    known = known_model(model)
    return known.context if known else DEFAULT_CONTEXT


def cost(provider: str, model: str, usage: Usage) -> float | None:
    """In US dollars at the provider's list prices; None where they are not known, never a guess.

    A dated version costs what its name says; a name that goes on otherwise is another model.
    """
    row = PROVIDERS.get(provider)
    if row is None or row.is_free:
        return 0.0  # a local model, or a recording
    known = known_model(model)
    if known is None or known.price_in is None:
        return None
    rest = model.rsplit("/", 1)[-1].removeprefix(known.name)
    if not re.fullmatch(r"(-\d[\d-]*|-latest|-preview[\d-]*)?", rest):
        return None
    return (usage.input_tokens * known.price_in + usage.output_tokens * known.price_out) / 1_000_000
