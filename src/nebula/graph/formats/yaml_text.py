"""Scalars of the YAML files the tool writes.

One stands bare only when no reader could take it for anything but that text; else it is a JSON string, which
YAML reads the same.
"""

from __future__ import annotations

import json
import re

_BARE = re.compile(r"[^\W\d_](?:[\w./()・、。「」（）！？-]|,(?=[\w])| (?=[\w(]))*")
_BARE_ID = re.compile(r"[0-9A-Za-z]{8}(?:-[0-9A-Za-z]{4}){3}-[0-9A-Za-z]{12}")
_BARE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:[+-]\d\d:\d\d|Z)?")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def scalar(text: str) -> str:
    """Return the text as YAML: `要約` bare, `要約: 直した`, `yes` and `2025` quoted."""
    if not text:
        return '""'
    if _BARE.fullmatch(text) and text.lower() not in _WORDS:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", quoted)


def identifier(text: str) -> str:
    return text if _BARE_ID.fullmatch(text) else scalar(text)


def moment(text: str) -> str:
    """Return a timestamp, bare as in the seed."""
    return text if _BARE_TIME.fullmatch(text) else scalar(text)
