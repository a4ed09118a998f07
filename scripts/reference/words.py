"""The language of the pages, and the Japanese of what the code says in English only (docstrings, summaries)."""

from __future__ import annotations

import json
import os
from pathlib import Path

from nebula.language import translate_to, use_language

LANGUAGES = ("en", "ja")
_JAPANESE: dict[str, str] = json.loads(Path(__file__).with_name("words.ja.json").read_text("utf-8"))
_missing: set[str] = set()
_language = "en"


def use(language: str) -> None:
    """Let `say` and the product itself speak this language from now on."""
    global _language
    _language = language
    os.environ["NEBULA_LANG"] = language
    use_language(language)


def say(english: str, *, must_be_known: bool = True) -> str:
    """Return a text of the code in the current language; one that has no Japanese yet is noted if it must have one."""
    if _language == "en" or not english:
        return english
    found = _JAPANESE.get(english) or translate_to("ja", english)
    if must_be_known and found == english and any(each.isalpha() for each in english):
        _missing.add(english)
    return found


def missing_words() -> list[str]:
    return sorted(_missing)


def page(title: str, beginning: str, *parts: str) -> str:
    """Return a whole page that says where it comes from."""
    origin = say("This page is written by `scripts/reference` from the code.")
    return "\n\n".join([f"# {say(title)}", f"{say(beginning)} {origin}", *filter(None, parts)]) + "\n"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table in Markdown; nothing where it has no rows."""
    if not rows:
        return ""
    lines = [_row(tuple(map(say, head))), "|" + "---|" * len(head), *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(_in_cell(each) for each in cells) + " |"


def _in_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
