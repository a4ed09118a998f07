"""How many tokens a string has, estimated: near enough for every model, and the same everywhere."""

from __future__ import annotations

# Weights fitted by least squares to o200k_base over pieces of 300 to 4,000 characters: English documents, Python,
# JavaScript, Japanese documents. Mean error 5-8 % of each kind, 95 % of the pieces within 20 %.
#
# Kinds are taken out one after the other, frequent ones first, so that each look has little left to go through.
_LETTERS = bytes(range(97, 123))
_CAPITALS = bytes(range(65, 91))
_ASCII_WEIGHTS: tuple[tuple[bytes, float], ...] = (
    (_LETTERS, 0.160),
    (b" \t", 0.079),
    (bytes(set(range(33, 127)) - set(_LETTERS + _CAPITALS + b"0123456789")), 0.623),
    (_CAPITALS, 0.286),  # a capital often begins a token inside an identifier
    (b"0123456789", 1.0),
    (b"\n", 0.134),
)
_OTHER_WEIGHTS: tuple[tuple[bytes, float], ...] = (
    (bytes(range(0x80, 0xC0)), 0.0),  # what follows the first byte of a character
    (b"\xe3", 0.621),  # kana and Japanese marks
    (bytes(range(0xE4, 0xEA)), 1.074),  # Chinese characters
    *_ASCII_WEIGHTS,
    (bytes(range(0xC2, 0xE0)), 0.5),  # two-byte letters: Latin with accents, Greek, Cyrillic
    (b"\xe0\xe1\xe2", 1.05),  # Indic scripts, arrows, box drawing, typographic marks
    (bytes(range(0xEA, 0xEE)), 0.75),  # Hangul
    (b"\xee\xef", 0.827),  # full-width forms
    (bytes(range(0xF0, 0xF5)), 2.0),  # emoji
)
_PER_WORD = 0.207


def estimate_tokens(text: str) -> int:
    """Return a guess from the kinds of characters alone; any text costs at least one token."""
    if not text:
        return 0
    data = text.encode("utf-8", "replace")
    left = len(data)
    total = _PER_WORD * len(data.split())
    for kind, weight in _ASCII_WEIGHTS if left == len(text) else _OTHER_WEIGHTS:
        data = data.translate(None, kind)
        total += weight * (left - len(data))
        left = len(data)
    return max(1, round(total))
