"""Reading one value of a setting: the value as we keep it, or a ConfigError that says what was expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nebula.errors import EXIT_USAGE, NebulaError


class ConfigError(NebulaError):
    """A setting that cannot be used. The sentence names the place and says what to do."""

    exit_code = EXIT_USAGE


def string(value: Any) -> str:
    if not isinstance(value, str):
        raise ConfigError("expected a string")
    return value


def address(value: Any) -> str:
    """Check the address of a server. It may hold a password, so it is shown without."""
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


_TEXTS = {"args", "read_only"}
_PAIRS = {"env", "headers"}
_WORDS = {"command", "cwd", "url"}


def mcp_servers(value: Any) -> dict[str, Any]:
    """Check the MCP servers: each name with how the server is reached, a `command` to start or a `url`."""
    if not isinstance(value, dict):
        raise ConfigError("expected an object of servers")
    for name, entry in value.items():
        if not name or "__" in name or not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
            raise ConfigError("'{name}': a server's name has letters, digits, - and _", name=name)
        if not isinstance(entry, dict) or ("command" in entry) == ("url" in entry):
            raise ConfigError("'{name}': expected an object with either 'command' or 'url'", name=name)
        for key, said in entry.items():
            _check_entry(name, key, said)
    return value


def _check_entry(name: str, key: str, said: Any) -> None:
    pairs = isinstance(said, dict) and all(isinstance(each, str) for each in said.values())
    try:
        if key in _TEXTS:
            strings(said)
        elif key in _WORDS:
            string(said)
        elif key == "timeout_s":
            seconds(said)
        elif key not in _PAIRS or not pairs:
            known = ", ".join(sorted(_TEXTS | _WORDS | _PAIRS | {"timeout_s"}))
            raise ConfigError("expected an object of strings" if key in _PAIRS else "known are {known}", known=known)
    except ConfigError as problem:
        raise ConfigError("'{name}': '{key}': {problem}", name=name, key=key, problem=problem) from None


def trusted(value: Any) -> dict[str, str]:
    """Check the trusted folders: each real path with the fingerprint of its commands when the user trusted them."""
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise ConfigError("expected an object of folders")
    return value
