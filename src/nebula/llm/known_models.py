"""What is known of models by their names: context, prices, abilities. One table, with the date of its prices.

Prices are the vendors' list prices in US dollars a million tokens. A new model is a row; what a server itself tells of
its models counts more than what stands here.
"""

from __future__ import annotations

from nebula.value import value

PRICES_OF = "2026-11"
"""The month in which the prices were looked up."""
DEFAULT_CONTEXT = 128_000
"""Tokens that a model is taken to have room for where nobody knows better."""


@value
class Price:
    """US dollars a million tokens."""

    input: float
    output: float
    cached: float | None = None
    """Input that came from a cache; None: it costs what other input does."""
    written: float | None = None
    """Input that was put into a cache; None: it costs what other input does."""


@value
class KnownModel:
    """What is known of the models whose names begin with `name`."""

    name: str
    context: int = DEFAULT_CONTEXT
    price: Price | None = None
    long_from: int = 0
    """A request with more input tokens than this is billed at `long_price`; 0: there is one price for all."""
    long_price: Price | None = None
    """None where requests that long have a price that is not known here."""
    effort: bool = False
    """It takes `low`, `medium` and `high` as the effort to make."""
    max_output: int = 0
    """The most tokens that it writes in one reply; 0 where nobody has to know."""
    adaptive: bool = False
    """It decides by itself how much to think, once it is told that it may (Claude)."""
    responses_only: bool = False
    """It is asked through the Responses API and no other (OpenAI)."""


UNKNOWN = KnownModel("")
"""A model of which nothing is known."""
_MILLION = 1_000_000
_LONG = 1_050_000
_G5 = 400_000


def _claude(name: str, price: Price, output: int = 128_000, long: tuple[int, Price | None] = (0, None)) -> KnownModel:
    return KnownModel(name, _MILLION, price, *long, effort=True, max_output=output, adaptive=True)


def _older_claude(name: str, price: Price, output: int = 64_000, *, effort: bool = False) -> KnownModel:
    return KnownModel(name, 200_000, price, effort=effort, max_output=output)


KNOWN_MODELS: tuple[KnownModel, ...] = (
    # OpenAI
    KnownModel("gpt-6", _LONG, long_from=272_000, effort=True),
    KnownModel("gpt-6-astra", _LONG, Price(10.0, 50.0, 1.0), 272_000, effort=True),
    KnownModel("gpt-6-sol", _LONG, Price(2.0, 10.0, 0.20, 2.50), 272_000, effort=True),
    KnownModel("gpt-6-luna", _LONG, Price(0.10, 0.50, 0.01, 0.125), 272_000, effort=True),
    KnownModel("gpt-6.1-sol", _LONG, Price(2.0, 10.0, 0.10, 2.50), 272_000, effort=True),
    KnownModel("gpt-5.6-sol", _LONG, Price(4.0, 20.0, 0.40), 272_000, effort=True),
    KnownModel("gpt-5.6-terra", _LONG, Price(2.0, 12.0, 0.20), 272_000, effort=True),
    KnownModel("gpt-5.6-luna", _LONG, Price(0.20, 1.20, 0.02), 272_000, effort=True),
    KnownModel("gpt-5.5", _LONG, Price(5.0, 30.0, 0.50), 272_000, effort=True),
    KnownModel("gpt-5.5-pro", _LONG, Price(30.0, 180.0), 272_000, effort=True, responses_only=True),
    KnownModel("gpt-5.4", _LONG, Price(2.50, 15.0, 0.25), 272_000, effort=True),
    KnownModel("gpt-5.4-mini", _G5, Price(0.75, 4.50, 0.075), effort=True),
    KnownModel("gpt-5.4-nano", _G5, Price(0.20, 1.25, 0.02), effort=True),
    KnownModel("gpt-5.4-pro", _LONG, Price(30.0, 180.0), 272_000, effort=True, responses_only=True),
    KnownModel("gpt-5.3-codex", _G5, Price(1.75, 14.0, 0.175), effort=True, responses_only=True),
    KnownModel("gpt-5.2", _G5, Price(1.75, 14.0, 0.175), effort=True),
    KnownModel("gpt-5.2-codex", _G5, Price(1.75, 14.0, 0.175), effort=True, responses_only=True),
    KnownModel("gpt-5.1", _G5, Price(1.25, 10.0, 0.125), effort=True),
    KnownModel("gpt-5.1-codex", _G5, Price(1.25, 10.0, 0.125), effort=True, responses_only=True),
    KnownModel("gpt-5", _G5, Price(1.25, 10.0, 0.125), effort=True),
    KnownModel("gpt-5-codex", _G5, Price(1.25, 10.0, 0.125), effort=True, responses_only=True),
    KnownModel("gpt-5-mini", _G5, Price(0.25, 2.0, 0.025), effort=True),
    KnownModel("gpt-5-nano", _G5, Price(0.05, 0.40, 0.005), effort=True),
    KnownModel("gpt-5-pro", _G5, Price(15.0, 120.0), effort=True, responses_only=True),
    KnownModel("gpt-4.1", 1_047_576, Price(2.0, 8.0, 0.50)),
    KnownModel("gpt-4.1-mini", 1_047_576, Price(0.40, 1.60, 0.10)),
    KnownModel("gpt-4.1-nano", 1_047_576, Price(0.10, 0.40, 0.025)),
    KnownModel("gpt-4o", 128_000, Price(2.50, 10.0, 1.25)),
    KnownModel("gpt-4o-mini", 128_000, Price(0.15, 0.60, 0.075)),
    KnownModel("o3", 200_000, Price(2.0, 8.0, 0.50), effort=True),
    KnownModel("o3-pro", 200_000, Price(20.0, 80.0), effort=True, responses_only=True),
    KnownModel("o4-mini", 200_000, Price(1.10, 4.40, 0.275), effort=True),
    # Anthropic
    KnownModel("claude", 200_000, max_output=32_000),
    _claude("claude-fable-5-1", Price(10.0, 50.0, 0.25, 12.50)),
    _claude("claude-fable-5", Price(10.0, 50.0, 1.0, 12.50)),
    _claude("claude-opus-5-5", Price(4.0, 20.0, 0.20, 5.0)),
    _claude("claude-opus-5", Price(5.0, 25.0, 0.50, 6.25)),
    _claude("claude-opus-4-8", Price(5.0, 25.0, 0.50, 6.25)),
    _claude("claude-opus-4-7", Price(5.0, 25.0, 0.50, 6.25)),
    _claude("claude-opus-4-6", Price(5.0, 25.0, 0.50, 6.25)),
    _older_claude("claude-opus-4-5", Price(5.0, 25.0, 0.50, 6.25), effort=True),
    _older_claude("claude-opus-4-1", Price(15.0, 75.0, 1.50, 18.75), output=32_000),
    _older_claude("claude-opus-4", Price(15.0, 75.0, 1.50, 18.75), output=32_000),
    _claude("claude-sonnet-5-5", Price(2.0, 10.0, 0.10, 2.50)),
    _claude("claude-sonnet-5", Price(2.0, 10.0, 0.20, 2.50)),
    _claude("claude-sonnet-4-6", Price(3.0, 15.0, 0.30, 3.75), output=64_000),
    _older_claude("claude-sonnet-4-5", Price(3.0, 15.0, 0.30, 3.75)),
    _older_claude("claude-sonnet-4", Price(3.0, 15.0, 0.30, 3.75)),
    _claude("claude-haiku-5-5", Price(0.10, 0.50, 0.01, 0.125), long=(100_000, Price(0.50, 2.50, 0.05, 0.625))),
    _older_claude("claude-haiku-4-5", Price(1.0, 5.0, 0.10, 1.25)),
    _older_claude("claude-3-5-haiku", Price(0.80, 4.0, 0.08, 1.0), output=8_192),
    # Google
    KnownModel("gemini", 1_048_576),
    KnownModel("gemini-3.5-flash", 1_048_576, Price(1.50, 9.0, 0.15), effort=True),
    KnownModel("gemini-3.1-pro", 1_048_576, Price(2.0, 12.0, 0.20), 200_000, Price(4.0, 18.0, 0.40), effort=True),
    KnownModel("gemini-3.1-flash-lite", 1_048_576, Price(0.25, 1.50, 0.025), effort=True),
    KnownModel("gemini-3-pro", 1_048_576, Price(2.0, 12.0, 0.20), 200_000, Price(4.0, 18.0, 0.40), effort=True),
    KnownModel("gemini-3-flash", 1_048_576, Price(0.50, 3.0, 0.05), effort=True),
    KnownModel("gemini-2.5-pro", 1_048_576, Price(1.25, 10.0, 0.125), 200_000, Price(2.50, 15.0, 0.25), effort=True),
    KnownModel("gemini-2.5-flash", 1_048_576, Price(0.30, 2.50, 0.03), effort=True),
    KnownModel("gemini-2.5-flash-lite", 1_048_576, Price(0.10, 0.40, 0.01), effort=True),
    KnownModel("gemini-2.0-flash", 1_048_576, Price(0.10, 0.40, 0.025)),
)
