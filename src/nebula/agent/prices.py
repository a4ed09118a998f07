"""What a call costs, for the models whose price is known here. Unknown is None, never a guess."""

from __future__ import annotations

from nebula.events import Usage

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
