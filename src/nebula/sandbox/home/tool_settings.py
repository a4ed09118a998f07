"""The settings of build tools in the home as a command sees them: where packages come from, without what gives access.

A tool that does not know of a company's mirror does not find what was downloaded from there either, and asks the
network instead. Of each file only what is known to name places is handed on; a script of Gradle, which may keep a
password under any name, is handed on as it is or not at all.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator

GRADLE = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
_FILES = (
    ("Cargo.toml", (".cargo/config.toml", ".cargo/config")),
    ("pom.xml", (".m2/settings.xml",)),
    *(
        (name, (".gradle/init.gradle", ".gradle/init.gradle.kts", ".gradle/gradle.properties", ".m2/settings.xml"))
        for name in GRADLE
    ),
)
_SCRIPTS_OF_GRADLE = ".gradle/init.d"
_MOST_SCRIPTS = 32
_MOST_BYTES = 1 << 16
_CREDENTIALS_IN_ADDRESS = re.compile(r"(?<!\w)(\w++://)[^/@\s\"'<>]++@")
_NAMES_SECRET = re.compile(r"pass|pwd|token|secret|credential|auth|user|login|key", re.IGNORECASE)
_NOT_PLACES = re.compile(r"<(servers|proxies|properties)\b[^<>]*+>.*?</\1>|<!--.*?-->", re.DOTALL)
_PROPERTY_OF_GRADLE = re.compile(r"\s*+(?:org\.gradle\.|systemProp\.https?\.(?:proxyHost|proxyPort|nonProxyHosts))")
_TABLES_OF_CARGO = (
    ("source", ("registry", "replace-with", "directory", "local-registry", "git", "branch", "tag", "rev")),
    ("registries", ("index",)),
)


def cleaned_tool_settings(root: str, home: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of the settings in the `home` that count for the project at `root`."""
    wanted = dict.fromkeys(
        name for manifest, names in _FILES if os.path.isfile(os.path.join(root, manifest)) for name in names
    )
    scripts = _scripts_of_gradle(home) if ".gradle/init.gradle" in wanted else []
    for name in (*wanted, *scripts):
        path = os.path.join(home, name)
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(_MOST_BYTES + 1)
        except (OSError, UnicodeDecodeError):
            continue
        if len(text) <= _MOST_BYTES and (cleaned := clean(name, text)):
            yield path, cleaned


def _scripts_of_gradle(home: str) -> list[str]:
    """Return the names in the `home` of what Gradle runs beside its one script."""
    try:
        names = os.listdir(os.path.join(home, _SCRIPTS_OF_GRADLE))
    except OSError:
        return []
    scripts = sorted(name for name in names if name.endswith((".gradle", ".gradle.kts")))
    return [f"{_SCRIPTS_OF_GRADLE}/{name}" for name in scripts[:_MOST_SCRIPTS]]


def clean(name: str, text: str) -> str:
    """Return what the settings say of places; empty where that cannot be told apart from the rest."""
    text = _CREDENTIALS_IN_ADDRESS.sub(r"\1", text)
    if name.endswith(".xml"):
        return _NOT_PLACES.sub("", text)
    if name.endswith(".properties"):
        lines = text.splitlines(keepends=True)
        return "".join(line for line in lines if _PROPERTY_OF_GRADLE.match(line) and not _NAMES_SECRET.search(line))
    if name.startswith(".cargo/"):
        return _places_of_cargo(text)
    return "" if _NAMES_SECRET.search(text) else text


def _places_of_cargo(text: str) -> str:
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return ""
    lines = []
    for table, keys in _TABLES_OF_CARGO:
        named = settings.get(table)
        for name, told in named.items() if isinstance(named, dict) else ():
            kept = {key: told[key] for key in keys if isinstance(told, dict) and isinstance(told.get(key), str)}
            if kept:  # a string in JSON is one in TOML as well
                lines += [f"[{table}.{json.dumps(name)}]", *(f"{key} = {json.dumps(kept[key])}" for key in kept)]
    return "".join(f"{line}\n" for line in lines)
