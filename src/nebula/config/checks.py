"""Reading one value of a setting: the value as we keep it, or a ConfigError that says what was expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nebula.config.errors import ConfigError


def string(value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigError("expected a string")
    return value


def address(value: Any) -> str:
    """Where a server is. It may hold a password, so it is shown without."""
    return string(value)


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError("expected true or false")
    return value


def positive(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError("expected a whole number of 1 or more")
    return value


def count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError("expected a whole number, 0 or more")
    return value


def seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ConfigError("expected a number of seconds above 0")
    return float(value)


def strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError("expected a list of strings")
    return tuple(value)


def one_of(*choices: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in choices:
            raise ConfigError("expected one of {choices}", choices=", ".join(choices))
        return str(value)

    return check


def extensions(value: Any) -> tuple[str, ...]:
    parts = value.replace(";", ",").split(",") if isinstance(value, str) else strings(value)
    cleaned = [part.strip().lower() for part in parts if part.strip()]
    return tuple(part if part.startswith(".") else "." + part for part in cleaned)


def trusted(value: Any) -> dict[str, str]:
    """Real path → what its commands were when the user trusted them."""
    if isinstance(value, list):
        return {}  # the form of old, which does not say what was trusted: ask again
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise ConfigError("expected an object of folders")
    return value
