"""nebula manual: the manual page of a program, made of the help of its commands."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.described.manual import manual_page
from nebula.cli.described.tree import describe_programs
from nebula.cli.printing import print_line

_PROGRAMS = ("nebula", "evercontext", "vizprompt")


def main(argv: Sequence[str]) -> None:
    parser = Parser(
        "nebula manual",
        "Prints a manual page, made of the help of every command.",
        examples=("nebula manual | man -l -", "nebula manual evercontext > ~/.local/share/man/man1/evercontext.1"),
    )
    parser.add_argument(
        "program",
        nargs="?",
        default="nebula",
        choices=_PROGRAMS,
        metavar="PROGRAM",
        help="nebula (default), evercontext or vizprompt",
    )
    options = parser.parse_args(argv)

    page = next(manual_page(each) for each in describe_programs() if each.path[0] == options.program)
    print_line(page.rstrip())
