"""A yes or no at the terminal, outside the interactive session."""

from __future__ import annotations

import sys

from nebula.cli.printing import print_remark, tell_remark
from nebula.language.agreement import agrees


def agreed(question: str) -> bool:
    """Ask at the terminal; where there is none, nobody agrees."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        tell_remark("Nobody is there to ask: add --yes.")
        return False
    print_remark(question, end="")
    return agrees(sys.stdin.readline())
