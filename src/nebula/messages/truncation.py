"""Cutting text to a number of UTF-8 bytes without ever splitting a character."""

from __future__ import annotations

TRUNCATION_SUFFIX = "...content truncated due to length"

# A model may send half of a surrogate pair; counting and cutting must survive that.
_HALF_PAIRS = "surrogatepass"


def byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", _HALF_PAIRS))


def truncate_safe(text: str, max_bytes: int) -> str:
    """Return the longest prefix of whole characters within `max_bytes` bytes of UTF-8."""
    max_bytes = max(max_bytes, 0)
    head = text[:max_bytes]  # no character is shorter than a byte, so nothing beyond can matter
    if head.isascii():
        return head
    encoded = head.encode("utf-8", _HALF_PAIRS)
    if len(encoded) <= max_bytes:
        return head
    end = max_bytes
    while encoded[end] & 0xC0 == 0x80:  # inside a character
        end -= 1
    return encoded[:end].decode("utf-8", _HALF_PAIRS)


def truncate_safe_in_place(text: str, max_bytes: int, suffix: str = TRUNCATION_SUFFIX) -> str:
    """Return `text` if it fits, else a prefix of it and `suffix`, together within `max_bytes`."""
    if len(text) <= max_bytes and byte_length(text) <= max_bytes:
        return text
    room = max_bytes - byte_length(suffix)
    if room < 0:
        return truncate_safe(suffix, max_bytes)
    return truncate_safe(text, room) + suffix
