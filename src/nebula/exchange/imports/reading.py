"""Opening the records of others: regular files only, never blocking, within limits, line by line."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from nebula.exchange.imports.contract import BAD_FILE, BAD_LINE, TOO_LARGE, SkipCounts
from nebula.files.untrusted_json import parse_json

LARGEST_FILE: Final = 1 << 30
LARGEST_LINE: Final = 32 << 20
LARGEST_DOCUMENT: Final = 512 << 20
"""A file that is one JSON value has to be read whole; exports of some years are that large."""
MOST_FILES: Final = 20_000
LONGEST_TEXT: Final = 1 << 20
"""Characters of one message that are kept."""


def json_lines(place: str, skipped: SkipCounts) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file with one JSON object a line; other lines are counted."""
    for line in read_lines(place, skipped):
        if not line.strip():
            continue
        try:
            found = parse_json(line)
        except ValueError:
            skipped[BAD_LINE] += 1
            continue
        if isinstance(found, dict):
            yield found
        else:
            skipped[BAD_LINE] += 1


def read_lines(place: str, skipped: SkipCounts) -> Iterator[bytes]:
    handle = _open(place, LARGEST_FILE, skipped)
    if handle is None:
        return
    with os.fdopen(handle, "rb") as file:
        try:
            while line := file.readline(LARGEST_LINE + 1):
                if len(line) <= LARGEST_LINE:
                    yield line
                    continue
                skipped[TOO_LARGE] += 1
                while line and not line.endswith(b"\n"):
                    line = file.readline(1 << 20)
        except OSError:
            skipped[BAD_FILE] += 1


def read_document(place: str, skipped: SkipCounts) -> bytes | None:
    """Return a whole file, None where it cannot be had."""
    handle = _open(place, LARGEST_DOCUMENT, skipped)
    if handle is None:
        return None
    with os.fdopen(handle, "rb") as file:
        try:
            return file.read(LARGEST_DOCUMENT)
        except OSError:
            skipped[BAD_FILE] += 1
            return None


def json_document(place: str, skipped: SkipCounts) -> Any:
    data = read_document(place, skipped)
    if data is None:
        return None
    try:
        return parse_json(data)
    except ValueError:
        skipped[BAD_FILE] += 1
        return None


def _open(place: str, limit: int, skipped: SkipCounts) -> int | None:
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        skipped[BAD_FILE] += 1
        return None
    found = os.fstat(handle)
    if stat.S_ISREG(found.st_mode) and found.st_size <= limit:
        return handle
    os.close(handle)
    skipped[TOO_LARGE if stat.S_ISREG(found.st_mode) else BAD_FILE] += 1
    return None


def files_below(folder: str, *endings: str) -> list[str]:
    """Return the files of a folder and those below it that end so, in order of name; links are not followed."""
    found: list[str] = []
    for here, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        found += (os.path.join(here, name) for name in sorted(names) if name.endswith(endings))
        if len(found) >= MOST_FILES:
            break
    return [each for each in found[:MOST_FILES] if not os.path.islink(each)]


def text_of(value: Any) -> str:
    """Return a text of a record fit to be stored, the empty one for anything else."""
    if not isinstance(value, str):
        return ""
    return value[:LONGEST_TEXT].encode("utf-8", "replace").decode()  # a lone surrogate cannot be stored


def child(value: Any, *names: str) -> Any:
    """Return what stands under these keys, one below the other; None where a part is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def count_of(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 53 else 0


def time_of(value: Any) -> str:
    """Return a moment, given as ISO 8601 or as seconds of the epoch, in the one form that the graph sorts."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value[:64])
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            return ""
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return moment.isoformat(timespec="microseconds")


def tell_call(name: Any, arguments: Any) -> str:
    """Return a tool call as one line of text."""
    shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"{text_of(name) or '?'} {text_of(shown)[:LONGEST_CALL]}"


LONGEST_CALL: Final = 4000
LONGEST_RESULT: Final = 4000


def tell_result(result: Any) -> str:
    """Return what a tool returned, both ends of it where it is long."""
    text = text_of(result if isinstance(result, str) else json.dumps(result, ensure_ascii=False))
    if len(text) <= LONGEST_RESULT:
        return text
    half = LONGEST_RESULT // 2
    return f"{text[:half]}\n… {len(text) - LONGEST_RESULT} …\n{text[-half:]}"
