"""A yes or no at the terminal, outside the interactive session."""

from __future__ import annotations

import sys

from nebula.cli.printing import print_remark
from nebula.language import translate
from nebula.language.agreement import agrees


def agreed(question: str) -> bool:
    """Ask at the terminal; where there is none, nobody agrees."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        print_remark(translate("Nobody is there to ask: add --yes."))
        return False
    print_remark(question, end="")
    return agrees(sys.stdin.readline())
