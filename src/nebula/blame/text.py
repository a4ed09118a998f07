"""A file's bytes as the lines that authorship is about.

A line ends at LF or CRLF; neither the line break nor a byte order mark belongs to it, so a file that changes from one
line break to the other keeps every author. Bytes are compared, not characters: authorship needs no encoding.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Final

_BOM: Final = b"\xef\xbb\xbf"
_STRIDE: Final = 1 << 16
TELLING: Final = 4
"""A line with more letters and digits than these says where it came from."""
_SIGNS: Final = bytes(code for code in range(128) if not chr(code).isalnum())


def split(content: bytes) -> list[bytes]:
    """Return the lines of a file without their line breaks; what follows the last break is one if it is not empty."""
    lines = content.removeprefix(_BOM).replace(b"\r\n", b"\n").split(b"\n")
    if not lines[-1]:
        del lines[-1]
    return lines


def count_lines(content: bytes) -> int:
    """Return how many lines `split` makes of the content."""
    content = content.removeprefix(_BOM)
    return content.count(b"\n") + bool(content and not content.endswith(b"\n"))


def is_binary(content: bytes) -> bool:
    """Return True where git would not show the content as text: it has a zero byte in its beginning."""
    return b"\0" in content[:8000]


def key(line: bytes) -> bytes:
    """Return what is left of a line without blanks and tabs: two lines of one key differ in white space alone."""
    return line.translate(None, b" \t\r")


def is_telling(line_key: bytes) -> bool:
    """Return False for a line such as `}` or `else:`, which by itself says nothing about where it came from."""
    return len(line_key.translate(None, _SIGNS)) > TELLING


def says_anything(line_key: bytes) -> bool:
    """Return False for a line of nothing but signs, such as `}`: not even the only one of a file says anything."""
    return bool(line_key.translate(None, _SIGNS))


def is_only(line_key: bytes, content: bytes) -> bool:
    """Return True if a content has one line of a key, and no second one."""
    signs = rb"[ \t\r]*".join(re.escape(line_key[at : at + 1]) for at in range(len(line_key)))
    found = re.finditer(rb"^(?:%b)?[ \t\r]*%b[ \t\r]*$" % (_BOM, signs), content, re.MULTILINE)
    return sum(1 for _ in islice(found, 2)) == 1


def common_ends(old: bytes, new: bytes) -> tuple[int, int]:
    """Return how many bytes of whole lines both contents share at their beginning and, beyond those, at their end.

    Most changes touch a few lines of a long file, and comparing bytes costs next to nothing beside splitting them.
    """
    room = min(len(old), len(new))
    start = _longest(room, lambda at, size: old.startswith(new[at : at + size], at))
    start = old.rfind(b"\n", 0, start) + 1
    cut = len(new)
    tail = _longest(room - start, lambda at, size: old.endswith(new[cut - at - size : cut - at], 0, len(old) - at))
    if not (_begins_line(old, len(old) - tail, start) and _begins_line(new, len(new) - tail, start)):
        line_break = old.find(b"\n", len(old) - tail)
        tail = len(old) - line_break - 1 if line_break >= 0 else 0
    return start, tail


def _longest(room: int, is_same: Callable[[int, int], bool]) -> int:
    """Return the largest number up to `room` for which `is_same(done, more)` holds at each of its steps."""
    done, stride = 0, _STRIDE
    while stride:
        if done + stride <= room and is_same(done, stride):
            done += stride
        else:
            stride //= 2
    return done


def _begins_line(content: bytes, place: int, start: int) -> bool:
    return place == start or content[place - 1 : place] == b"\n"
