"""The settings of build tools in the home as a command sees them: where packages come from, without what gives access.

A tool that does not know of a company's mirror does not find what was downloaded from there either, and asks the
network instead.
"""

from __future__ import annotations

import os
import re
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
_MOST_BYTES = 1 << 16
_CREDENTIALS_IN_ADDRESS = re.compile(r"(?<!\w)(\w++://)[^/@\s\"'<>]++@")
_NAMES_SECRET = re.compile(r"pass(?:word|phrase|wd)|token|secret|credential|auth|user|login|\w*key", re.IGNORECASE)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*+"|\'(?:[^\'\\\n]|\\.)*+\'')
_ELEMENTS_OF_ACCESS = re.compile(r"<(servers|proxies)>.*?</\1>", re.DOTALL)
_SECRET_ELEMENT = re.compile(r"<(\w*(?:password|passphrase|token|secret|privateKey)\w*)>[^<]*</\1>", re.IGNORECASE)
_PROPERTY_OF_GRADLE = re.compile(r"\s*+(?:org\.gradle\.|systemProp\.https?\.(?:proxyHost|proxyPort|nonProxyHosts))")


def cleaned_tool_settings(root: str, home: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of the settings in the `home` that count for the project at `root`."""
    wanted = dict.fromkeys(
        name for manifest, names in _FILES if os.path.isfile(os.path.join(root, manifest)) for name in names
    )
    for name in wanted:
        path = os.path.join(home, name)
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(_MOST_BYTES + 1)
        except (OSError, UnicodeDecodeError):
            continue
        if len(text) <= _MOST_BYTES:
            yield path, clean(name, text)


def clean(name: str, text: str) -> str:
    """Return the settings without passwords and their like; what is left still reads as what it was."""
    text = _CREDENTIALS_IN_ADDRESS.sub(r"\1", text)
    if name.endswith(".xml"):
        return _SECRET_ELEMENT.sub("", _ELEMENTS_OF_ACCESS.sub("", text))
    lines = text.splitlines(keepends=True)
    if name.endswith(".properties"):
        kept = [line for line in lines if _PROPERTY_OF_GRADLE.match(line) and not _NAMES_SECRET.search(line)]
    else:
        kept = [_STRING.sub('""', line) if _NAMES_SECRET.search(line) else line for line in lines]
    return "".join(kept)
