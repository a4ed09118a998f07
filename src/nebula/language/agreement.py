"""Plain words by which a person says yes, in both languages."""

from __future__ import annotations

_WORDS = (
    *("y", "yes", "yep", "yeah", "sure", "ok", "okay", "yes please", "ok go", "go ahead", "do it", "please do"),
    *("はい", "うん", "ええ", "オーケー", "了解", "承認", "許可", "どうぞ", "いいよ", "いいです", "お願いします"),
    "はい お願いします",
)


def agrees(text: str) -> bool:
    """Return whether a text is a plain word of agreement; also in full-width letters, as an input method types them."""
    words = fold_width(text).replace("、", " ").replace(",", " ").split()
    return " ".join(words).rstrip(".!。 ") in _WORDS


def fold_width(text: str) -> str:
    from unicodedata import normalize  # only an answer needs it: a first request does not wait for its tables

    return normalize("NFKC", text).lower()
