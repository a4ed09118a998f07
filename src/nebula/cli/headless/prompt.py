"""The prompt of `nebula -p`: what was typed, and what is piped in behind it."""

from __future__ import annotations

import os
import select
import stat
import sys

from nebula.cli.arguments import UsageError
from nebula.cli.printing import print_remark
from nebula.language import translate

PATIENCE_S = 1.0
FIRST_BYTE_S = 10.0
"""A pipe that somebody left open and never writes to must not hold the task up for ever."""


def read_prompt(text: str) -> str:
    """`-` is standard input alone; to any other text what is piped in is appended."""
    piped = _everything() if text == "-" else _piped()
    whole = piped if text == "-" else f"{text}\n\n{piped}" if piped.strip() else text
    if not whole.strip():
        raise UsageError("the prompt is empty; say what to do after -p")
    return whole.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _everything() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _piped() -> str:
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
    except OSError:
        return ""
    if stat.S_ISREG(kind):
        return _everything()
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return ""  # a terminal or /dev/null: nothing was piped
    if not _something_comes(PATIENCE_S):
        print_remark(f"nebula: {translate('waiting for standard input (end it with < /dev/null)')}")
        if not _something_comes(FIRST_BYTE_S - PATIENCE_S):
            print_remark(f"nebula: {translate('nothing came on standard input; going on without it')}")
            return ""
    return _everything()


def _something_comes(seconds: float) -> bool:
    return bool(select.select([sys.stdin.fileno()], [], [], seconds)[0])
