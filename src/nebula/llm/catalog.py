"""What is known of providers and their models (`nebula.providers`), beside what the user has set.

Nothing here imports a connector: a start pays only for the one it uses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from nebula.language import Sentence
from nebula.llm.contract import Model, Usage
from nebula.llm.errors import NotFoundError
from nebula.llm.known_models import KNOWN_MODELS, UNKNOWN, KnownModel, Price
from nebula.providers import PROVIDERS, Provider

RECORDING = "replay"
"""The provider of a recorded conversation, which costs nothing."""

if TYPE_CHECKING:
    from nebula.config import Settings
    from nebula.llm.http.retry import RetryPolicy


def is_configured(row: Provider, settings: Settings) -> bool:
    """Return whether somebody set a provider up. One that needs no key may always be there."""
    if row.in_home:
        return os.path.isdir(_folder(row, settings))
    return not row.key or bool(getattr(settings, row.key)) or has_own_address(row, settings)


def configured_providers(settings: Settings) -> list[Provider]:
    """Return the providers that somebody set up, and those that need no key."""
    return [row for row in PROVIDERS.values() if is_configured(row, settings)]


def how_to_set_up(row: Provider | None = None) -> Sentence:
    """Say what to type so that a provider (or any) can be used."""
    if row is not None and not row.key:
        return Sentence(
            "Start {label}, or say where it is with `export {variable}=…`.",
            label=row.label,
            variable=row.address_variable,
        )
    if row is not None:
        return Sentence("Type `export {variable}=…` with your key.", variable=row.key_variable)
    keys = [f"`export {each.key_variable}=…`" for each in PROVIDERS.values() if each.key]
    keyless = next(each for each in PROVIDERS.values() if not each.key)
    return Sentence(
        "Type one of {exports} with your key, or start {label} ({variable} says where); `nebula demo` works without.",
        exports=", ".join(keys),
        label=keyless.label,
        variable=keyless.address_variable,
    )


def is_set_up(row: Provider, settings: Settings) -> bool:
    """Return whether somebody gave it a key or an address; one that is merely looked for is not missed."""
    return bool(row.key) or has_own_address(row, settings)


def has_own_address(row: Provider, settings: Settings) -> bool:
    return row.address in settings.origins


def address_and_key(row: Provider, settings: Settings) -> tuple[str, str]:
    address = getattr(settings, row.address) if row.address else _folder(row, settings)
    return address, getattr(settings, row.key) if row.key else ""


def _folder(row: Provider, settings: Settings) -> str:
    return os.path.join(settings.home, row.in_home) if row.in_home else ""


def connect_as_set(row: Provider, settings: Settings, remark: Sentence | None = None) -> Model:
    """Return a connector to the provider with the address and key that are set; `remark` is shown before its first
    reply."""
    address, key = address_and_key(row, settings)
    return connect(row.name, base_url=address, api_key=key, remark=remark, effort=settings.effort)


def connect(
    provider: str,
    *,
    base_url: str = "",
    api_key: str = "",
    retry: RetryPolicy | None = None,
    environ: Mapping[str, str] | None = None,
    remark: Sentence | None = None,
    effort: str = "",
) -> Model:
    """Make a connector to `provider`. Nothing is contacted yet.

    `environ` is where proxies and certificates are looked up (default: the process's environment). The JSON dialect
    stands by for models that have no tool calls of their own. Calls printed as text are read only where the user set
    the server up: at the provider's own address a text is an answer.
    """
    row = PROVIDERS.get(provider)
    if row is None:
        raise NotFoundError(
            "'{name}' is no provider; choose one of {known}.", name=provider, known=", ".join(PROVIDERS)
        )
    from importlib import import_module

    from nebula.llm.context_limit import LearntContext
    from nebula.llm.dialect.where_needed import DialectWhereNeeded

    module, _, name = row.connector.partition(":")
    given = {"retry": retry} if retry is not None else {}
    make = getattr(import_module(module), name)
    model: Model = make(base_url=base_url, api_key=api_key, environ=environ, effort=effort, **given)
    is_own_server = row.is_free or base_url.rstrip("/") not in ("", row.default_address)
    return LearntContext(DialectWhereNeeded(model, remark, reads_printed_calls=is_own_server))


def short_name(model: str) -> str:
    """Return the name of a model for people: a model in a file goes by the name of the file."""
    return os.path.basename(model).removesuffix(".gguf") if os.path.isabs(model) else model


def split_name(name: str) -> tuple[str, str]:
    """Split `provider/model`. A slash after anything but a provider belongs to the model's name; the provider is then
    empty."""
    first, slash, rest = name.partition("/")
    return (first, rest) if slash and first in PROVIDERS and rest else ("", name)


def known_provider(model: str) -> str:
    """Return the provider whose models have names like this one; empty where any may have it."""
    if ":" in model or "/" in model:  # a tag, an owner
        return ""
    return next((row.name for row in PROVIDERS.values() if row.own_names and re.match(row.own_names, model)), "")


@lru_cache(maxsize=64)
def known_model(model: str) -> KnownModel:
    """Return what is known of a model: the row with the longest name that its own begins with, `UNKNOWN` without."""
    name = model.rsplit("/", 1)[-1]
    known = (each for each in KNOWN_MODELS if name.startswith(each.name))
    return max(known, key=lambda each: len(each.name), default=UNKNOWN)


def context_length(model: str) -> int:
    """Return the context length that a model is known to have, without asking its server."""
    return known_model(model).context


def cost(provider: str, model: str, usage: Usage, *, is_sum: bool = False) -> float | None:
    """Return the price of one request in US dollars; None where it is not known, never a guess.

    A dated version costs what its name says; a name that goes on otherwise is another model. With `is_sum` the usage
    is that of several requests, none of which was long enough for a price of its own. One request takes tokens: where
    its server told of none that went in, what it costs is not known.
    """
    is_long = not is_sum and 0 < known_model(model).long_from < usage.input_tokens
    price = price_of(provider, model, is_long=is_long)
    is_untold = not is_sum and not usage.input_tokens
    if price is None or (is_untold and (price.input or price.output)):
        return None
    return _dollars(usage, price)


@lru_cache(maxsize=64)
def price_of(provider: str, model: str, *, is_long: bool = False) -> Price | None:
    """Return what a model costs at its provider; None where that is not known. `is_long`: of a long request."""
    row = PROVIDERS.get(provider)
    if provider == RECORDING or (row is not None and row.is_free):
        return Price(0.0, 0.0)
    known = known_model(model)
    if row is None or not _is_version(model, known):
        return None
    return known.long_price if is_long else known.price


def sum_costs(costs: Iterable[float | None]) -> float | None:
    """Return the sum; None where one of them is not known."""
    total = 0.0
    for each in costs:
        if each is None:
            return None
        total += each
    return total


def _is_version(model: str, known: KnownModel) -> bool:
    rest = model.rsplit("/", 1)[-1].removeprefix(known.name)
    return re.fullmatch(r"(-\d{3,}[\d-]*|-latest|-preview[\d-]*)?", rest) is not None


def _dollars(usage: Usage, price: Price) -> float:
    cached = price.input if price.cached is None else price.cached
    written = price.input if price.written is None else price.written
    fresh = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens
    dollars = fresh * price.input + usage.cached_input_tokens * cached + usage.cache_write_tokens * written
    return (dollars + usage.output_tokens * price.output) / 1_000_000
