"""Every setting: its default, its variables, whose file may hold it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from docstrings import field_docs
from words import page, say, table

from nebula.config.settings import NOBODY, PROJECT, TABLE, Setting, Settings
from nebula.providers import PROVIDERS

_FILES = {NOBODY: "no file", PROJECT: "yours, a project's"}


def list_settings() -> str:
    docs = field_docs(Settings) | _provider_docs()
    rows = [
        (f"`{name}`", _default(each), _variables(each), _file(each), say(docs[name])) for name, each in TABLE.items()
    ]
    undocumented = [name for name in TABLE if not docs[name]]
    if undocumented:
        raise SystemExit(f"settings.py says nothing about {', '.join(undocumented)}: put a string under each")
    return page(
        "Settings",
        "The command line counts before the environment, that before the project's `.nebula/config.json`, and that"
        " before your `~/.nebula/config.json`. `nebula config` shows each value and where it comes from.",
        table(("key", "default", "variable", "file", "what it is"), rows),
    )


def _provider_docs() -> dict[str, str]:
    keys = {row.key: "The key of this provider." for row in PROVIDERS.values() if row.key}
    return keys | {row.address: "Where this provider is." for row in PROVIDERS.values() if row.address}


def _default(each: Setting) -> str:
    if each.default in ("", (), 0.0, None) or (isinstance(each.default, Mapping) and not each.default):
        return ""
    return f"`{_json(each.default)}`"


def _json(default: Any) -> str:
    if isinstance(default, str):
        return default
    return json.dumps(list(default) if isinstance(default, tuple) else default)


def _variables(each: Setting) -> str:
    return ", ".join(f"`{name}`" for name in each.variables)


def _file(each: Setting) -> str:
    words = say(_FILES.get(each.file, "yours"))
    return f"{words} ({say('once trusted')})" if each.runs else words
