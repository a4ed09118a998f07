"""The text of a file, whatever encoding it was saved in, as UTF-8.

A line feed is never part of another letter in the encodings tried, so the lines stay those that an editor shows.
"""

from __future__ import annotations

import codecs
import re

from nebula.index.constants import BINARY_PROBE_BYTES

_MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
"""How a file begins that says its encoding; that of UTF-32 begins like that of UTF-16, so it comes first."""
_UTF8_LETTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")


class NotText(ValueError):
    """Raised for a content that is no text in any encoding tried; the message is the reason."""


def as_utf8(data: bytes) -> bytes:
    """Return the text of a file in UTF-8. Raises NotText."""
    for name, marks in _MARKS.items():
        if data.startswith(marks):
            return _decode_marked(data, name)
    if data.find(b"\0", 0, BINARY_PROBE_BYTES) >= 0:
        raise NotText("binary")
    if data.isascii() or _is_utf8(data):
        return data
    try:
        return data.decode("cp932").encode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()


def _decode_marked(data: bytes, name: str) -> bytes:
    try:
        text = data.decode(name)
    except UnicodeDecodeError:
        raise NotText(f"it begins as {name.upper()} and is not") from None
    if "\0" in text:
        raise NotText("binary")
    return text.encode("utf-8", "replace")


def _is_utf8(data: bytes) -> bool:
    """Return whether a content is UTF-8, or was before a few bytes of it were damaged."""
    try:
        data.decode()
    except UnicodeDecodeError:
        letters = _UTF8_LETTER.findall(data)
        return len(letters) > len(_HIGH_BYTE.findall(data)) - sum(map(len, letters))
    return True
