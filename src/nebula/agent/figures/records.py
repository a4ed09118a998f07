"""Read the lines of `trace.jsonl` and `audit.jsonl` one at a time, whatever else is in the file.

A project may come from a stranger, so the file is opened below the project's root and no link is followed. A line that
cannot be read is counted and skipped. Most lines of a trace are long, and of most only the type counts: those are not
decoded, which makes reading several times faster.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from nebula.errors import EXIT_USAGE, NebulaError
from nebula.files.reading import open_below
from nebula.files.untrusted_json import parse_json
from nebula.value import record

TRACE_FILE = "trace.jsonl"
AUDIT_FILE = "audit.jsonl"
LONGEST_LINE = 64 << 20
"""We write no longer lines, so a longer one is not ours."""
_HEAD = re.compile(rb'\{"type": "(\w+)", "trace_id": "([^"\\]{1,80})"')
"""How a line of the trace begins as we write it; one in another order is decoded like any JSON."""

Unread = Callable[[str, str, bytes], bool]
"""Returns whether a line with this type and trace id need not be decoded."""


@record
class LineCount:
    lines: int = 0
    damaged: int = 0


def read_records(
    root: str, name: str, count: LineCount | None = None, unread: Unread = lambda *_: False
) -> Iterator[dict[str, Any]]:
    """Return the objects in `.nebula/NAME` of a project, in order; none where there is no such file. An absolute name
    is one that the user chose, wherever it is."""
    count = LineCount() if count is None else count
    handle = _open(root, name)
    if handle is None:
        return
    with open(handle, "rb", buffering=1 << 20) as file:
        for line in iter(partial(file.readline, LONGEST_LINE), b""):
            count.lines += 1
            found = _read_head(line, unread) or _decode(line)
            if found is None:
                count.damaged += bool(line.strip())
            else:
                yield found


class NoRecords(NebulaError):
    """Raised where the records that the user named cannot be read."""

    exit_code = EXIT_USAGE


def _open(root: str, name: str) -> int | None:
    """Return a descriptor of a file of records; None where there is none. Raises NoRecords for a file that the user
    named. In a project anything that is not a regular file, such as a stranger's link, is ignored."""
    is_named = os.path.isabs(name)
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(name, flags) if is_named else open_below(root, (".nebula", name), follow=False)
    except FileNotFoundError:
        return None
    except OSError as problem:
        if is_named:
            raise NoRecords("{path} cannot be read: {reason}", path=name, reason=problem.strerror) from None
        return None
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    if is_named:
        raise NoRecords("{path} is not a file; see EC_AUDIT_LOG", path=name)
    return None


def _read_head(line: bytes, unread: Unread) -> dict[str, Any] | None:
    head = _HEAD.match(line)
    if head is None or not line.endswith(b"}\n"):
        return None
    kind, trace_id = head[1].decode(), head[2].decode("utf-8", "replace")
    return {"type": kind, "trace_id": trace_id} if unread(kind, trace_id, line) else None


def _decode(line: bytes) -> dict[str, Any] | None:
    try:
        found = parse_json(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
