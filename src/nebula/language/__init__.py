"""What the program says to a person, in the person's language.

The English sentence is the key: `translate("{path}: not found.", path=path)` reads as what it says, and a sentence
without a translation still appears, in English. Japanese lies beside this module, one JSON file a room
(`ja/<room>.json`, sentence to sentence), and is loaded only where it is spoken. A test walks the source and fails
on any sentence that has no translation or whose places do not match.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Any

LANGUAGES = ("en", "ja")

_SYSTEM = "system: "
"""Marks in the tables what the system itself says, so that no name in a sentence can be taken for one of ours."""
_AGREEMENT = (
    *("y", "yes", "yep", "yeah", "sure", "ok", "okay", "yes please", "ok go", "go ahead", "do it", "please do"),
    *("はい", "うん", "ええ", "オーケー", "了解", "承認", "許可", "どうぞ", "いいよ", "いいです", "お願いします"),
    "はい お願いします",
)
"""Plain words by which a person says yes, in both languages."""
_REFUSAL = ("", "n", "no", "nope", "no thanks", "いいえ", "いや", "だめ", "やめて")
"""The same for no; so does Enter alone."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_HERE = os.path.dirname(os.path.abspath(__file__))
_tables: dict[str, dict[str, str]] = {"en": {}}
_current = "en"


def use_language(lang: str) -> None:
    """Set what `translate` speaks from now on, for the whole process; an unknown language is English."""
    global _current
    _current = lang if lang in LANGUAGES else "en"


def language_of(env: Mapping[str, str]) -> str:
    """Return the language that the environment asks for: NEBULA_LANG, else the locale."""
    asked = env.get("NEBULA_LANG", "").strip()
    if asked in LANGUAGES:
        return asked
    locale = env.get("LC_ALL") or env.get("LC_MESSAGES") or env.get("LANG") or ""
    return "ja" if locale.lower().startswith("ja") else "en"


def translate(sentence: str, /, **values: Any) -> str:
    """Return the sentence in the current language, with its values."""
    return translate_to(_current, sentence, **values)


def translate_to(lang: str, sentence: str, /, **values: Any) -> str:
    found = _table(lang).get(sentence, sentence)
    return found.format(**{name: _said(lang, each) for name, each in values.items()}) if values else found


class Sentence:
    """A sentence with its values, to be said later, to whoever reads it (`explain`); as text it is English."""

    __slots__ = ("sentence", "values")

    def __init__(self, sentence: str, /, **values: Any) -> None:
        self.sentence = sentence
        self.values = values

    def __str__(self) -> str:
        return self.sentence.format(**self.values) if self.values else self.sentence

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sentence) and (self.sentence, self.values) == (other.sentence, other.values)

    def __hash__(self) -> int:
        return hash(self.sentence)

    def __repr__(self) -> str:
        return f"Sentence({str(self)!r})"

    def to_json(self) -> str:
        """In English, as the wire and the records have it."""
        return str(self)


def sentence_of(problem: BaseException) -> Sentence:
    """Return what an error says, to be said later; of one that is not ours, its own text."""
    sentence = getattr(problem, "sentence", None)
    if sentence is not None:
        return Sentence(sentence, **getattr(problem, "values", {}))
    said = problem.strerror if isinstance(problem, OSError) else None
    return Sentence("{problem}", problem=said or str(problem))


def explain_failure(problem: OSError) -> Sentence:
    """Return what happened to which file, and what to do where that is known."""
    if not problem.filename:
        return sentence_of(problem)
    if problem.errno in NO_ROOM:
        return Sentence("{path}: the disk is full; make room and try again.", path=problem.filename)
    return Sentence("{path}: {reason}", path=problem.filename, reason=problem.strerror)


def translate_count(count: int, one: str, many: str, /, **values: Any) -> str:
    """Return one of two translated sentences, by number: "{count} turn" or "{count} turns"."""
    return translate(one if count == 1 else many, count=count, **values)


def explain(problem: BaseException | Sentence | str) -> str:
    """Return the sentence of an error in the current language; of one that is not ours, its own text."""
    return explain_to(_current, problem)


def explain_to(lang: str, problem: BaseException | Sentence | str) -> str:
    return str(_said(lang, problem))


def agrees(text: str) -> bool:
    """Return whether a text is a plain word of agreement; also in full-width letters, as an input method types them."""
    return _plain_words(text) in _AGREEMENT


def declines(text: str) -> bool:
    """Return whether a text is a plain word of refusal, or nothing at all."""
    return _plain_words(text) in _REFUSAL


def _plain_words(text: str) -> str:
    words = fold_width(text).replace("、", " ").replace(",", " ").split()
    return " ".join(words).rstrip(".!。 ")


def fold_width(text: str) -> str:
    """Return a text in small letters of half width, as it is typed without an input method."""
    from unicodedata import normalize  # only an answer needs it: a first request does not wait for its tables

    return normalize("NFKC", text).lower()


def _said(lang: str, value: Any) -> Any:
    """Return a value for a place in a sentence: one that is a sentence itself is said in the same language, and so is
    what the system says of a failure ("Permission denied"), which comes as it is."""
    sentence = getattr(value, "sentence", None)
    if sentence is None:
        return _table(lang).get(_SYSTEM + value, value) if isinstance(value, str) else value
    return translate_to(lang, sentence, **getattr(value, "values", {}))


def _table(lang: str) -> dict[str, str]:
    table = _tables.get(lang if lang in LANGUAGES else "en")
    if table is None:
        table = _tables[lang] = _load(lang)
    return table


def _load(lang: str) -> dict[str, str]:
    import json

    table: dict[str, str] = {}
    folder = os.path.join(_HERE, lang)
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                table |= json.load(file)
    return table
