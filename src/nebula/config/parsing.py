"""From the bytes of a config.json to an object, with the place of what is wrong."""

from __future__ import annotations

import json
from typing import Any

from nebula.config.checks import ConfigError
from nebula.files.untrusted_json import parse_json

MAX_CONFIG_BYTES = 1024 * 1024


def parse_object(path: str, data: bytes) -> dict[str, Any]:
    place = printable(path)
    try:
        text = data.decode("utf-8-sig")
        found = parse_json(text) if text.strip() else {}
    except UnicodeDecodeError:
        raise ConfigError("{path} is not UTF-8; fix or remove it", path=place) from None
    except json.JSONDecodeError as problem:
        raise ConfigError(
            "{path}, line {line}, column {column}: {problem}; fix the file, it was left as it is",
            path=place,
            line=problem.lineno,
            column=problem.colno,
            problem=problem.msg,
        ) from None
    except ValueError:  # too deep, or a number of thousands of digits
        raise ConfigError("{path} cannot be read as JSON; fix the file, it was left as it is", path=place) from None
    if not isinstance(found, dict):
        raise ConfigError("{path}, line 1: expected an object {{…}}; fix the file, it was left as it is", path=place)
    return found


def printable(text: str, limit: int | None = None) -> str:
    """Return a name from a file, fit for a terminal: nothing in it that a terminal would obey, and short where
    wished."""
    short = text if limit is None or len(text) <= limit else text[:limit] + "…"
    return short if short.isprintable() else "".join(c if c.isprintable() else "�" for c in short)
