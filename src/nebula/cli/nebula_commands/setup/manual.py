"""nebula manual: the manual page of a program, made of the help of its commands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nebula import __version__
from nebula.cli.arguments import Parser
from nebula.cli.described.tree import DescribedCommand, describe_programs
from nebula.cli.printing import print_line
from nebula.language import translate

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

    page = next(_manual_page(each) for each in describe_programs() if each.path[0] == options.program)
    print_line(page.rstrip())


def _manual_page(program: DescribedCommand) -> str:
    """Return a page of section 1 in the language of `man`."""
    name = program.path[0]
    about = re.split(r"\. |。", " ".join(program.about.split()))[0].rstrip(".")
    lines = [
        f'.TH {name.upper()} 1 "" "nebula {__version__}" "{_escape(translate("Commands"))}"',
        ".SH NAME",
        _escape(f"{name} - {about}"),
    ]
    for command in program.walk():
        title = translate("SYNOPSIS") if command is program else " ".join(command.path).upper()
        lines += [f".SH {_escape(title)}", ".nf", *map(_plain, command.help.rstrip().splitlines()), ".fi"]
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")


def _plain(line: str) -> str:
    """Return a line that `man` takes as it is, also where it begins like a request."""
    escaped = _escape(line)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
