"""Questions at the terminal, outside the interactive session."""

from __future__ import annotations

import sys

from nebula.cli.printing import print_remark, tell_remark
from nebula.language import agrees


def is_attended() -> bool:
    """Return whether somebody is there who reads a question and can answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str) -> str:
    """Return the line that is typed behind a question."""
    print_remark(question, end="")
    return sys.stdin.readline().strip()


def agreed(question: str) -> bool:
    """Return whether somebody says yes to a question; where nobody is there, nobody does."""
    if not is_attended():
        tell_remark("Nobody is there to ask: add --yes.")
        return False
    return agrees(ask(question))
